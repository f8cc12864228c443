// An allocation that may be evicted, as numbers, and its cost as a victim (R-PREEMPT-204, 411 to 413).
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "base/wrap.h"
#include "model/flatten.h"

namespace berth::preempt {

/// A job may evict allocations whose priority is at least this much lower (R-PREEMPT-204).
inline constexpr std::int64_t kMinPriorityDelta = 10;

/// One proposed allocation of the node that does not belong to the job being placed (R-PREEMPT-202).
struct Candidate {
  std::int64_t cpu_mhz = 0, memory_mb = 0, disk_mb = 0;  ///< flattened
  const std::vector<std::uint16_t>* cores = nullptr;     ///< flattened, ascending; null = none
  std::int64_t priority = 0;                             ///< q: of the job version it was placed with
  bool has_job = true;                                   ///< an allocation without a job version is never a victim
  std::int64_t max_parallel = 0;                         ///< m of R-PREEMPT-413
  std::int64_t preempted = 0;                            ///< K of R-PREEMPT-413; 0 in full runs (R-PREEMPT-414)
  const model::AllocatedResources* resources = nullptr;  ///< read for networks and devices only; null = none

  [[nodiscard]] bool preemptible_by(std::int64_t job_priority) const {
    return has_job && job_priority - priority >= kMinPriorityDelta;
  }
};

/// The gap between need and use relative to the need, negative if the use exceeds it; 0 without a need (R-PREEMPT-411).
[[nodiscard]] inline double relative_gap(std::int64_t need, std::int64_t use) {
  if (need <= 0) return 0.0;
  return (static_cast<double>(need) - static_cast<double>(use)) / static_cast<double>(need);
}

/// Distance of a use from a need over memory, cpu and disk; 0 = equal (R-PREEMPT-411).
[[nodiscard]] inline double distance(const model::FlatResources& need, const Candidate& use) {
  const double memory = relative_gap(need.memory_mb, use.memory_mb);
  const double cpu = relative_gap(need.cpu_mhz, use.cpu_mhz);
  const double disk = relative_gap(need.disk_mb, use.disk_mb);
  return std::sqrt((memory * memory + cpu * cpu) + disk * disk);
}

/// The same for bandwidth in Mbit/s; the subtraction is in integers. Infinite or NaN for a need of 0 (R-PREEMPT-509).
[[nodiscard]] inline double network_distance(std::int64_t need_mbits, std::int64_t use_mbits) {
  return std::abs(static_cast<double>(base::wrap_sub(need_mbits, use_mbits))) / static_cast<double>(need_mbits);
}

/// Penalty per eviction beyond `max_parallel` of the candidate's group (R-PREEMPT-413).
[[nodiscard]] inline double penalty(std::int64_t max_parallel, std::int64_t preempted) {
  if (max_parallel <= 0 || preempted < max_parallel) return 0.0;
  return static_cast<double>(preempted + 1 - max_parallel) * 50.0;
}

}  // namespace berth::preempt
