// Finds the changes of nodes' free amounts that can alter the result of a request for cpu, memory and disk.
//
// A node without enough room fails for the first amount that is short: cpu, memory, disk (R-RANK-533). If its free
// amounts change without crossing the request, it fails for the same amount as before, or still has room. Memory
// matters only if cpu suffices, disk only if both do.
#pragma once

#include <cstddef>
#include <cstdint>

#include "rank/asked_amounts.h"

namespace berth::rank {

/// Per change: minimum and maximum of the free amount before and after. Unknown: [INT32_MIN, INT32_MAX].
struct LeftRanges {
  const std::int32_t* least_cpu;  ///< MHz
  const std::int32_t* most_cpu;
  const std::int32_t* least_memory;  ///< MB
  const std::int32_t* most_memory;
  const std::int32_t* least_disk;  ///< MB
  const std::int32_t* most_disk;
};

/// Writes the positions of the changes [0, n) that cross the request to `out`, ascending; `out` must have room for n.
/// Returns their number.
[[nodiscard]] std::size_t crossings(const LeftRanges& ranges, std::size_t n, const AskedAmounts& ask,
                                    std::uint32_t* out) noexcept;

}  // namespace berth::rank
