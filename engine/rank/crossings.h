// Which changes of what nodes have left matter to who asks for cpu, memory and disk.
//
// A node that lacks a figure fails for the first one that is short: cpu, memory, disk (R-RANK-533). If what it has left
// goes from one value to another and no figure crosses what is asked, it fails for the same one as before, or has room
// as before. Memory counts only where cpu suffices, disk where both do.
#pragma once

#include <cstddef>
#include <cstdint>

namespace berth::rank {

/// Columns by change: the less and the more of what is left before and after it. Who is not told is from the least to
/// the greatest number.
struct LeftRanges {
  const std::int32_t* least_cpu;  ///< MHz
  const std::int32_t* most_cpu;
  const std::int32_t* least_memory;  ///< MB
  const std::int32_t* most_memory;
  const std::int32_t* least_disk;  ///< MB
  const std::int32_t* most_disk;
};

struct LeftAsk {
  std::int32_t cpu_mhz = 0, memory_mb = 0, disk_mb = 0;
};

/// Writes the positions of the changes [0, n) that cross the ask to `out`, ascending, room for n; returns how many.
[[nodiscard]] std::size_t crossings(const LeftRanges& ranges, std::size_t n, const LeftAsk& ask,
                                    std::uint32_t* out) noexcept;

}  // namespace berth::rank
