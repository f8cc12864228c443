// Why the answer is exact although pass 1 is not.
//
// Let a node fit: 0 <= used <= capacity with the ask, so both free fractions f are in [0, 1]. Per axis, with u = 2^-24:
//   argument    f' = round(free - ask) * round(1/capacity): three roundings (the integer beyond 2^24, the inverse, the
//               product), so |f' - f| <= 3.01 u f. 10^f has slope at most 10 ln 10 < 23.1:        < 4.2e-6
//   polynomial  degree 7, coefficients rounded to binary32, against 10^f on [0, 1]:               < 2.4e-6
//               (largest error on a grid of 5001 points 2.23e-6; its derivative moves less than 1e-7 between two)
//   Horner      8 steps, each at most two roundings (multiply, add) of values of at most 11:      < 16 * 11 u < 1.1e-5
// Together < 1.8e-5 per axis, < 3.6e-5 for two, and the sum of two values rounds by at most 20 u < 1.2e-6: below
// kTotalError = 4e-5. f' may exceed 1 by 3 u, which the slope covers.
//
// The exact total (R-RANK-651) differs from the mathematical one by less than 1e-13, and so does the order of scores
// from the order of totals: 20 - total, total - 2 and the division by 18 each round once. Let m be the smallest key
// (total, or -total for spread) of pass 1, at node j, and b a node whose exact score is highest. Then
//   key(b) <= exact(b) + E <= exact(j) + 1e-12 + E <= m + 2E + 1e-12.
// So every node that ties for the best is among those with key <= m + 2E + 1e-12; pass 2 scores exactly these, with
// room to spare for rounding the threshold itself.
#include "rank/exhaustive.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/assert.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rank/exhaustive.cc"
#include <hwy/foreach_target.h>
// After foreach_target, or the first pass misses it.
#include <hwy/highway.h>

#ifndef BERTH_RANK_EXHAUSTIVE_ONCE
#define BERTH_RANK_EXHAUSTIVE_ONCE
namespace berth::rank {
namespace {

inline constexpr std::size_t kBlock = 64;  // rows per word of the feasible mask

/// The columns of pass 1 from some row on.
struct BlockColumns {
  const std::int32_t *cpu_free, *memory_free, *disk_free;
  const float *cpu_inverse, *memory_inverse;
};

/// Columns of pass 1 of the best row so far. Rows equal in all four have the same score, see inverses_tell_apart().
struct Reference {
  std::int32_t cpu_free, memory_free;
  float cpu_inverse, memory_inverse;
  std::uint32_t visit_rank;
};

/// Whether equal free amounts and equal binary32 inverses imply equal use and capacity: capacities are integers, and
/// below 2^22 the inverses of two neighbours differ by more than 2^-22 of their value, so they round differently.
inline bool inverses_tell_apart(double cpu_capacity, double memory_capacity) {
  return cpu_capacity < 0x1p22 && memory_capacity < 0x1p22;
}

// 10^f on [0, 1]: interpolation at the Chebyshev nodes, lowest power first.
inline constexpr float kPow10[] = {0x1.ffffc6p-1f, 0x1.26c256p+1f, 0x1.52bbf8p+1f,  0x1.090da0p+1f,
                                   0x1.08a746p+0f, 0x1.a31886p-1f, -0x1.87ab80p-4f, 0x1.c97a56p-3f};

}  // namespace
}  // namespace berth::rank
#endif  // BERTH_RANK_EXHAUSTIVE_ONCE

HWY_BEFORE_NAMESPACE();
namespace berth::rank {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D, class V = hn::Vec<D>>
HWY_INLINE V pow10_approximate(D d, V f) {
  V sum = hn::Set(d, kPow10[7]);
  for (int i = 6; i >= 0; --i) sum = hn::MulAdd(sum, f, hn::Set(d, kPow10[i]));
  return sum;
}

/// Pass 1 over whole blocks of 64 rows; writes 64 keys and one minimum per block, returns the number of fitting rows.
template <bool kSpread>
HWY_INLINE std::size_t scan_keys(const BlockColumns& c, const ScanAsk& ask, const std::uint64_t* HWY_RESTRICT feasible,
                                 std::size_t block_count, float* HWY_RESTRICT keys, float* HWY_RESTRICT block_min) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const std::size_t lanes = hn::Lanes(d);
  const auto ask_cpu = hn::Set(di, ask.cpu_mhz), ask_memory = hn::Set(di, ask.memory_mb);
  const auto ask_disk = hn::Set(di, ask.disk_mb);
  const auto infinity = hn::Set(d, std::numeric_limits<float>::infinity());
  const auto limit = hn::Set(d, 32.0f);  // no total comes near; NaN fails the comparison
  std::size_t fitting = 0;
  for (std::size_t block = 0; block < block_count; ++block) {
    const std::uint64_t word = feasible[block];
    if (word == 0) {
      block_min[block] = std::numeric_limits<float>::infinity();
      for (std::size_t k = 0; k < kBlock; k += lanes) hn::StoreU(infinity, d, keys + block * kBlock + k);
      continue;
    }
    auto least = infinity;
    for (std::size_t k = 0; k < kBlock; k += lanes) {
      const std::size_t i = block * kBlock + k;
      const auto cpu = hn::LoadU(di, c.cpu_free + i), memory = hn::LoadU(di, c.memory_free + i);
      const auto disk = hn::LoadU(di, c.disk_free + i);
      // Compared before subtracting: free - ask could wrap for a free below zero, but such a row does not fit.
      const auto lacks = hn::Or(hn::Or(hn::Gt(ask_cpu, cpu), hn::Gt(ask_memory, memory)), hn::Gt(ask_disk, disk));
      const auto f_cpu = hn::Mul(hn::ConvertTo(d, hn::Sub(cpu, ask_cpu)), hn::LoadU(d, c.cpu_inverse + i));
      const auto f_memory = hn::Mul(hn::ConvertTo(d, hn::Sub(memory, ask_memory)), hn::LoadU(d, c.memory_inverse + i));
      const auto total = hn::Add(pow10_approximate(d, f_cpu), pow10_approximate(d, f_memory));
      const std::uint64_t bits = word >> k;
      std::uint8_t bytes[sizeof bits];
      std::memcpy(bytes, &bits, sizeof bits);
      const auto keep = hn::AndNot(hn::RebindMask(d, lacks), hn::And(hn::LoadMaskBits(d, bytes), hn::Le(total, limit)));
      const auto key = hn::IfThenElse(keep, kSpread ? hn::Neg(total) : total, infinity);
      fitting += hn::CountTrue(d, keep);
      least = hn::Min(least, key);
      hn::StoreU(key, d, keys + i);
    }
    block_min[block] = hn::GetLane(hn::MinOfLanes(d, least));
  }
  return fitting;
}

std::size_t scan(bool spread, const BlockColumns& c, const ScanAsk& ask, const std::uint64_t* feasible,
                 std::size_t block_count, float* keys, float* block_min) {
  return spread ? scan_keys<true>(c, ask, feasible, block_count, keys, block_min)
                : scan_keys<false>(c, ask, feasible, block_count, keys, block_min);
}

/// Pass 2: the first row from `row` on, below block_count * 64, whose key is at most `threshold` and which could
/// replace the best so far: rows equal to `best` could only by being visited earlier. block_count * 64 if there is
/// none.
std::size_t next_candidate(const BlockColumns& c, const std::uint32_t* HWY_RESTRICT visit_rank,
                           const float* HWY_RESTRICT keys, const float* HWY_RESTRICT block_min, float threshold,
                           const Reference& best, std::size_t row, std::size_t block_count) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const hn::RebindToUnsigned<decltype(d)> du;
  const std::size_t lanes = hn::Lanes(d), end = block_count * kBlock;
  const auto limit = hn::Set(d, threshold);
  const auto cpu_free = hn::Set(di, best.cpu_free), memory_free = hn::Set(di, best.memory_free);
  const auto cpu_inverse = hn::Set(d, best.cpu_inverse), memory_inverse = hn::Set(d, best.memory_inverse);
  const auto best_rank = hn::Set(du, best.visit_rank);
  while (row < end) {
    const std::size_t skip = row % lanes, i = row - skip;
    if (block_min[row / kBlock] > threshold) {
      row = (row / kBlock + 1) * kBlock;
      continue;
    }
    auto same = hn::And(hn::Eq(hn::LoadU(d, c.cpu_inverse + i), cpu_inverse),
                        hn::Eq(hn::LoadU(d, c.memory_inverse + i), memory_inverse));
    same = hn::And(same, hn::RebindMask(d, hn::Eq(hn::LoadU(di, c.cpu_free + i), cpu_free)));
    same = hn::And(same, hn::RebindMask(d, hn::Eq(hn::LoadU(di, c.memory_free + i), memory_free)));
    if (visit_rank) same = hn::AndNot(hn::RebindMask(d, hn::Gt(best_rank, hn::LoadU(du, visit_rank + i))), same);
    auto candidates = hn::AndNot(same, hn::Le(hn::LoadU(d, keys + i), limit));
    if (skip != 0) candidates = hn::AndNot(hn::FirstN(d, skip), candidates);
    if (!hn::AllFalse(d, candidates)) return i + static_cast<std::size_t>(hn::FindFirstTrue(d, candidates));
    row = i + lanes;
  }
  return end;
}

}  // namespace HWY_NAMESPACE
}  // namespace berth::rank
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace berth::rank {

HWY_EXPORT(scan);
HWY_EXPORT(next_candidate);

std::optional<ScanBest> ExhaustiveScan::best(FitAlgorithm algorithm, const ScanColumns& nodes, const ScanAsk& ask,
                                             std::span<const std::uint64_t> feasible,
                                             std::span<const std::uint32_t> visit_rank) {
  const std::size_t n = nodes.size(), blocks = (n + kBlock - 1) / kBlock, whole = n / kBlock;
  BERTH_ASSERT(feasible.size() >= blocks && (visit_rank.empty() || visit_rank.size() == n));
  BERTH_ASSERT(nodes.memory_free_mb.size() == n && nodes.disk_free_mb.size() == n && nodes.cpu_inverse.size() == n);
  BERTH_ASSERT(nodes.memory_inverse.size() == n && nodes.fit.size() == n);
  keys_.resize(blocks * kBlock);
  block_min_.resize(blocks);
  const bool spread = algorithm == FitAlgorithm::spread;
  const BlockColumns columns{nodes.cpu_free_mhz.data(), nodes.memory_free_mb.data(), nodes.disk_free_mb.data(),
                             nodes.cpu_inverse.data(), nodes.memory_inverse.data()};
  std::size_t fitting =
      HWY_DYNAMIC_DISPATCH(scan)(spread, columns, ask, feasible.data(), whole, keys_.data(), block_min_.data());
  if (whole < blocks) {  // the last rows, padded to a block that no column has
    std::int32_t cpu[kBlock] = {}, memory[kBlock] = {}, disk[kBlock] = {};
    float cpu_inverse[kBlock] = {}, memory_inverse[kBlock] = {};
    const std::size_t begin = whole * kBlock, rest = n - begin;
    std::copy_n(nodes.cpu_free_mhz.begin() + static_cast<std::ptrdiff_t>(begin), rest, cpu);
    std::copy_n(nodes.memory_free_mb.begin() + static_cast<std::ptrdiff_t>(begin), rest, memory);
    std::copy_n(nodes.disk_free_mb.begin() + static_cast<std::ptrdiff_t>(begin), rest, disk);
    std::copy_n(nodes.cpu_inverse.begin() + static_cast<std::ptrdiff_t>(begin), rest, cpu_inverse);
    std::copy_n(nodes.memory_inverse.begin() + static_cast<std::ptrdiff_t>(begin), rest, memory_inverse);
    const std::uint64_t word = feasible[whole] & ((std::uint64_t{1} << rest) - 1);
    fitting += HWY_DYNAMIC_DISPATCH(scan)(spread, {cpu, memory, disk, cpu_inverse, memory_inverse}, ask, &word, 1,
                                          keys_.data() + begin, block_min_.data() + whole);
  }
  if (fitting == 0) return std::nullopt;

  const float least = *std::min_element(block_min_.begin(), block_min_.end());
  const float threshold = least + 2.5f * kTotalError;
  ScanBest best;
  best.fitting = static_cast<std::uint32_t>(fitting);
  bool found = false;
  std::uint32_t best_rank = 0;
  constexpr float kNoInverse = std::numeric_limits<float>::quiet_NaN();  // equals no row's
  Reference reference{0, 0, kNoInverse, kNoInverse, 0};
  // Nodes near the best are often equal to one of a few others: their scores are remembered by what they depend on.
  struct Scored {
    std::int64_t cpu_used = -1, memory_used = -1;
    std::uint64_t cpu_capacity = 0, memory_capacity = 0;  // bits
    double component = 0;
  };
  constexpr std::uint64_t kSpreadBits = 0x9e3779b97f4a7c15;  // odd; its product's top bits depend on all of x
  std::array<Scored, 16> memo;
  const auto consider = [&](std::size_t row) {
    const std::uint32_t rank = visit_rank.empty() ? static_cast<std::uint32_t>(row) : visit_rank[row];
    const std::int64_t cpu = nodes.fit.cpu_used_mhz[row], memory = nodes.fit.memory_used_mb[row];
    const double cpu_capacity = nodes.fit.cpu_capacity_mhz[row], memory_capacity = nodes.fit.memory_capacity_mb[row];
    const auto cpu_bits = std::bit_cast<std::uint64_t>(cpu_capacity);
    const auto memory_bits = std::bit_cast<std::uint64_t>(memory_capacity);
    const std::uint64_t mixed = static_cast<std::uint64_t>(cpu) ^ (static_cast<std::uint64_t>(memory) << 20) ^
                                (cpu_bits >> 24) ^ (memory_bits >> 12);
    Scored& scored = memo[mixed * kSpreadBits >> 60];
    if (scored.cpu_used != cpu || scored.memory_used != memory || scored.cpu_capacity != cpu_bits ||
        scored.memory_capacity != memory_bits)
      scored = {cpu, memory, cpu_bits, memory_bits,
                fit_component(algorithm, cpu + ask.cpu_mhz, cpu_capacity, memory + ask.memory_mb, memory_capacity)};
    if (found && !(scored.component > best.component) && !(scored.component == best.component && rank < best_rank))
      return;
    found = true;
    best.row = static_cast<std::uint32_t>(row), best.component = scored.component, best_rank = rank;
    reference = {nodes.cpu_free_mhz[row], nodes.memory_free_mb[row], nodes.cpu_inverse[row], nodes.memory_inverse[row],
                 visit_rank.empty() ? 0 : rank};
    if (!inverses_tell_apart(cpu_capacity, memory_capacity)) reference.cpu_inverse = kNoInverse;
  };
  for (std::size_t row = 0;; ++row) {
    row = HWY_DYNAMIC_DISPATCH(next_candidate)(columns, visit_rank.empty() ? nullptr : visit_rank.data(), keys_.data(),
                                               block_min_.data(), threshold, reference, row, whole);
    if (row == whole * kBlock) break;
    consider(row);
  }
  for (std::size_t row = whole * kBlock; row < n; ++row)
    if (keys_[row] <= threshold) consider(row);
  return best;
}

}  // namespace berth::rank
#endif  // HWY_ONCE
