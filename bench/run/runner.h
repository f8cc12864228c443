// `berth run`: replays a workload with one worker and measures it.
//
// One loop, one thread. Events (arrivals and departures) are handled in the order of their due times, at equal times
// departures first, then by priority, then by number: so the decisions depend on the workload only, not on the speed of
// the machine, and their digest can be compared. Latency is measured all the same: the clock runs while berth works, an
// evaluation that was due meanwhile has waited since its due time.
#pragma once

#include "run/observer.h"
#include "server/config.h"

namespace berth::run {

struct RunOptions {
  bool quiet = false;  ///< no progress
  /// Allocations of the program so far; null: the program does not count them.
  AllocationCount (*allocations)() = nullptr;
  bool hdr_log = false;          ///< keep RunResult::hdr_log
  Observer* observer = nullptr;  ///< null: nobody looks on
  /// Told of lanes and decisions as well, such as a Shadow; null: nothing is. Not of nomad-grid.
  server::Listener* beside = nullptr;
  std::size_t arrivals_max = 0;  ///< only the first so many jobs; 0: all
};

/// The state of a workload's cluster when all events due by `at_ns` of its time have been handled, in turn and by one
/// worker, so that it is the same wherever it is asked for. Not for nomad-grid, whose cells have clusters of their own.
[[nodiscard]] Result<model::ClusterState> state_at(const sim::Workload& workload, std::int64_t at_ns);

/// Replays a workload that was read. Errors are those of its data: file, place, problem, remedy.
[[nodiscard]] Result<RunResult> run_workload(const sim::Workload& workload, const RunOptions& options);

}  // namespace berth::run
