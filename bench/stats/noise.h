// How far two sets of runs of the same program differ by themselves: what a comparison can tell from nothing.
#pragma once

#include <cstdint>
#include <span>

namespace berth::stats {

/// The relative difference between the medians of two sets of `count` runs that all come from `same` (runs of one
/// program): the value that 95 % of such A/A comparisons stay below. Estimated from `rounds` pairs of sets drawn from
/// `same` with replacement; the same seed gives the same answer. Falls as sets grow, about as 1 / sqrt(count). Infinite
/// for fewer than three values: they do not show their spread.
[[nodiscard]] double aa_noise(std::span<const double> same, std::size_t count, std::uint64_t seed, int rounds = 400);

}  // namespace berth::stats
