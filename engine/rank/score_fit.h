// The fit score of a node: how full it would be including the request (R-RANK-651, 652; R-MODEL-450 to 454).
//
//   free   = 1 - used / capacity                  per axis, cpu and memory; used includes the request
//   total  = 10^free_cpu + 10^free_memory
//   score  = 20 - total (binpack) or total - 2 (spread), clamped to [0, 18]
//   component "binpack" = score / 18              under that name for both algorithms
//
// Capacity is f64(total) - f64(reserved): one double per node and axis, stored as a column of its own (fit_capacity).
// NaN (capacity 0 with use 0) passes the clamps and stays NaN. Capacity 0 with use gives free = -inf and 10^free = 0.
#pragma once

#include <cstdint>
#include <span>

namespace berth::rank {

enum class FitAlgorithm : std::uint8_t { binpack, spread };

/// Capacity of one axis for scoring: the integers are converted one by one (R-RANK-102, 651).
[[nodiscard]] inline double fit_capacity(std::int64_t total, std::int64_t reserved) noexcept {
  return static_cast<double>(total) - static_cast<double>(reserved);
}

/// One axis: 1 - used / capacity.
[[nodiscard]] inline double free_fraction(double used, double capacity) noexcept { return 1.0 - used / capacity; }
[[nodiscard]] inline double free_fraction(std::int64_t used, double capacity) noexcept {
  return free_fraction(static_cast<double>(used), capacity);
}

/// Score in [0, 18] of one node (R-RANK-652 before the division by 18). cpu in MHz, memory in MiB, both including the
/// request.
[[nodiscard]] double fit_score(FitAlgorithm algorithm, std::int64_t cpu_used, double cpu_capacity,
                               std::int64_t memory_used, double memory_capacity) noexcept;

/// Component `binpack` in [0, 1]: fit_score / 18.
[[nodiscard]] inline double fit_component(FitAlgorithm algorithm, std::int64_t cpu_used, double cpu_capacity,
                                          std::int64_t memory_used, double memory_capacity) noexcept {
  return fit_score(algorithm, cpu_used, cpu_capacity, memory_used, memory_capacity) / 18.0;
}

/// Capacity columns of the scored rows, all of the same length.
struct FitColumns {
  std::span<const std::int64_t> cpu_used_mhz, memory_used_mb;
  std::span<const double> cpu_capacity_mhz, memory_capacity_mb;
  [[nodiscard]] std::size_t size() const noexcept { return cpu_used_mhz.size(); }
};

/// Columns of the scored nodes: use including the group, in MHz and MiB, and fit_capacity() of both axes.
struct FitFigures {
  const double *cpu_used, *cpu_capacity, *memory_used, *memory_capacity;
};
inline constexpr std::size_t kFitStep = 8;

/// fit_component() of n nodes at vector speed, with the same bits. Reads the columns and writes `out` up to the next
/// multiple of kFitStep; values beyond n are ignored.
void fit_columns(FitAlgorithm algorithm, const FitFigures& of, std::size_t n, double* out) noexcept;

}  // namespace berth::rank
