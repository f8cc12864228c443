// Vector code that lists the changes that cross a request (rank/crossings.h); included once per instruction set
// (Highway).
#if defined(BERTH_RANK_CROSSINGS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BERTH_RANK_CROSSINGS_INL_H_
#undef BERTH_RANK_CROSSINGS_INL_H_
#else
#define BERTH_RANK_CROSSINGS_INL_H_
#endif

#include <hwy/highway.h>

#include "rank/crossings.h"

HWY_BEFORE_NAMESPACE();
namespace berth::rank {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

std::size_t list_crossings(const LeftRanges& ranges, std::size_t n, const AskedAmounts& ask, std::uint32_t* out) {
  const hn::CappedTag<std::int32_t, 16> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto cpu = hn::Set(d, ask.cpu_mhz), memory = hn::Set(d, ask.memory_mb), disk = hn::Set(d, ask.disk_mb);
  std::size_t count = 0, i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto reached = [&](const std::int32_t* most, auto asked) {
      return hn::Not(hn::Lt(hn::LoadU(d, most + i), asked));
    };
    const auto missed = [&](const std::int32_t* least, auto asked) { return hn::Lt(hn::LoadU(d, least + i), asked); };
    const auto by_cpu = reached(ranges.most_cpu, cpu);
    if (hn::AllFalse(d, by_cpu)) continue;
    const auto by_disk = hn::And(reached(ranges.most_disk, disk), missed(ranges.least_disk, disk));
    const auto by_memory =
        hn::And(reached(ranges.most_memory, memory), hn::Or(missed(ranges.least_memory, memory), by_disk));
    const auto crosses = hn::And(by_cpu, hn::Or(missed(ranges.least_cpu, cpu), by_memory));
    std::uint8_t bytes[8] = {};
    hn::StoreMaskBits(d, crosses, bytes);
    for (std::uint32_t bits = bytes[0] | std::uint32_t{bytes[1]} << 8; bits != 0; bits &= bits - 1)
      out[count++] = static_cast<std::uint32_t>(i) + static_cast<std::uint32_t>(__builtin_ctz(bits));
  }
  for (; i < n; ++i) {
    const bool by_disk = ranges.most_disk[i] >= ask.disk_mb && ranges.least_disk[i] < ask.disk_mb;
    const bool by_memory =
        ranges.most_memory[i] >= ask.memory_mb && (ranges.least_memory[i] < ask.memory_mb || by_disk);
    if (ranges.most_cpu[i] >= ask.cpu_mhz && (ranges.least_cpu[i] < ask.cpu_mhz || by_memory))
      out[count++] = static_cast<std::uint32_t>(i);
  }
  return count;
}

}  // namespace HWY_NAMESPACE
}  // namespace berth::rank
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
