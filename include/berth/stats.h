// Counters of a Cluster and of its contents.
#pragma once

#include <cstdint>

namespace berth {

/// Counters since the Cluster was made.
struct Stats {
  std::uint64_t evaluations = 0;  ///< calls of schedule() that returned a plan
  std::uint64_t placements = 0;   ///< placements in these plans
  std::uint64_t failures = 0;     ///< allocations for which no node was found
  std::uint64_t commits = 0;      ///< plans committed at least in part
  std::uint64_t committed = 0;    ///< placements that became allocations
  std::uint64_t refused = 0;      ///< placements that no longer fitted at commit
};

/// Counts at one moment. Resources are those of existing nodes; used: by allocations that have not ended on their node.
struct Counts {
  std::uint64_t nodes = 0, ready_nodes = 0;  ///< ready: status ready, eligible, not draining
  std::uint64_t jobs = 0;                    ///< with a current version
  std::uint64_t allocs = 0;                  ///< ended ones included
  std::uint64_t live_allocs = 0;             ///< not ended
  std::int64_t cpu_usable_mhz = 0, cpu_used_mhz = 0;
  std::int64_t memory_usable_mb = 0, memory_used_mb = 0;  ///< MiB
  std::int64_t disk_usable_mb = 0, disk_used_mb = 0;      ///< MiB
};

}  // namespace berth
