// The best node of all: one fused pass that drops nodes that do not fit and finds the highest fit score, to the last
// bit.
//
//   pass 1   columns of 4 B: free cpu, memory and disk, inverse capacities, feasible bits. Per node the total
//            10^free_cpu + 10^free_memory in binary32, within kTotalError of the exact one (argument in exhaustive.cc);
//            keeps the smallest (binpack) or largest (spread) one per block of 64 and overall.
//   pass 2   only nodes within twice that error of the best: exact score (score_fit.h) from the columns of 8 B.
// The answer equals that of scoring every node exactly, on every instruction set; ties go to the node visited first.
// Identical nodes are scored once, so a cluster of ten thousand equal nodes costs no ten thousand exact scores.
// An ExhaustiveScan is reusable scratch of one thread; it grows to the largest n and stays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "rank/score_fit.h"

namespace berth::rank {

/// One row per node. Free is usable (capacity minus reservation) minus what proposed allocs use; it may be negative.
///   column               unit  bytes  read by
///   cpu_free_mhz         MHz       4  pass 1      beyond int32: not representable, keep such nodes out
///   memory_free_mb       MiB       4  pass 1
///   disk_free_mb         MiB       4  pass 1
///   cpu_inverse          1/MHz     4  pass 1      inverse_capacity(cpu capacity)
///   memory_inverse       1/MiB     4  pass 1      inverse_capacity(memory capacity)
///   fit                  -        32  pass 2      use *without* the ask (not negative), capacities as doubles
struct ScanColumns {
  std::span<const std::int32_t> cpu_free_mhz, memory_free_mb, disk_free_mb;
  std::span<const float> cpu_inverse, memory_inverse;
  FitColumns fit;
  [[nodiscard]] std::size_t size() const noexcept { return cpu_free_mhz.size(); }
};

/// Entry of an inverse column. A node without capacity has no score (R-RANK-104) and is never the best: NaN.
[[nodiscard]] inline float inverse_capacity(double capacity) noexcept {
  return capacity > 0 ? static_cast<float>(1 / capacity) : std::numeric_limits<float>::quiet_NaN();
}

/// What a placement asks for in all; not negative.
struct ScanAsk {
  std::int32_t cpu_mhz = 0, memory_mb = 0, disk_mb = 0;
};

struct ScanBest {
  std::uint32_t row = 0;
  double component = 0;       ///< component `binpack` of that node with the ask on it (R-RANK-652)
  std::uint32_t fitting = 0;  ///< feasible nodes that have room for the ask
};

/// Bound on |binary32 total - exact total| of pass 1, for nodes that fit.
inline constexpr float kTotalError = 4e-5f;

class ExhaustiveScan {
 public:
  /// The feasible, fitting node with the highest fit score, or nothing.
  ///   feasible    bit i of word i / 64 = row i; ceil(n / 64) words, bits past n are 0
  ///   visit_rank  row -> visiting index; empty = ascending rows
  ///   cost        reads 20 B per node and writes 4 B; measured in bench/micro/exhaustive_bench.cc
  [[nodiscard]] std::optional<ScanBest> best(FitAlgorithm algorithm, const ScanColumns& nodes, const ScanAsk& ask,
                                             std::span<const std::uint64_t> feasible,
                                             std::span<const std::uint32_t> visit_rank = {});

  /// Totals of pass 1 of the last best(), by row: +infinity for rows that do not fit, negated for `spread`. For tests.
  [[nodiscard]] std::span<const float> keys() const noexcept { return keys_; }

 private:
  std::vector<float> keys_;       // by row, in blocks of 64
  std::vector<float> block_min_;  // by block
};

}  // namespace berth::rank
