// The fit by amounts alone: cpu, memory, disk and the number of allocations (R-RANK-532, 533).
#pragma once

#include "base/wrap.h"
#include "sched/scratch.h"

namespace berth::sched {

/// The node's use with the group added, and the first exhausted dimension; kReasonNone: the group fits. For nodes on
/// which no ports and cores are held.
struct PlainFit {
  FitUse use;
  std::uint32_t dimension;
};
inline constexpr NodeOverlay kUntouched{};
inline PlainFit plain_fit(const tables::NodeCapacity& capacity, const tables::NodeUse& use, const NodeOverlay& overlay,
                          const tables::CompiledGroup& group) {
  using base::wrap_add;  // sums wrap (R-MODEL-3)
  PlainFit out{{wrap_add(wrap_add(use.cpu_mhz, overlay.cpu_mhz), group.cpu_mhz),
                wrap_add(wrap_add(use.memory_mb, overlay.memory_mb), group.memory_mb),
                wrap_add(wrap_add(use.disk_mb, overlay.disk_mb), group.disk_mb)},
               kReasonNone};
  if (capacity.max_allocs != 0 && capacity.max_allocs <= static_cast<std::int64_t>(use.alloc_count) + overlay.allocs)
    out.dimension = kDimensionMaxAllocs;
  else if (capacity.cpu_mhz < out.use.cpu_mhz)
    out.dimension = kDimensionCpu;
  else if (capacity.memory_mb < out.use.memory_mb)
    out.dimension = kDimensionMemory;
  else if (capacity.disk_mb < out.use.disk_mb)
    out.dimension = kDimensionDisk;
  return out;
}

}  // namespace berth::sched
