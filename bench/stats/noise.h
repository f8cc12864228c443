// Noise: how far two sets of runs of the same program differ by chance.
#pragma once

#include <cstdint>
#include <span>

namespace berth::stats {

/// 95 % quantile of the relative difference between the medians of two sets of `count` runs of one program (A/A
/// comparison). Estimated from `rounds` pairs of sets drawn from `same`, runs of that program, with replacement. The
/// same seed gives the same answer. Decreases about as 1 / sqrt(count). Infinite for fewer than three values.
[[nodiscard]] double aa_noise(std::span<const double> same, std::size_t count, std::uint64_t seed, int rounds = 400);

}  // namespace berth::stats
