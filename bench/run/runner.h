// `berth run`: replays a workload with one worker and measures it.
//
// One loop, one thread. Events (arrivals and departures) are handled by due time, at equal times departures first, then
// by priority, then by number. So the decisions depend only on the workload, not on the machine's speed, and their
// digest can be compared. Latency is measured too: the clock runs while berth works, so an evaluation that became due
// meanwhile has waited since its due time.
#pragma once

#include <functional>

#include "base/log_line.h"
#include "model/cluster.h"
#include "run/observer.h"
#include "server/config.h"

namespace berth::run {

struct RunOptions {
  bool quiet = false;  ///< without progress
  /// Heap allocations of the program so far; null: not counted.
  AllocationCount (*allocations)() = nullptr;
  bool hdr_log = false;          ///< keep RunResult::hdr_log
  Observer* observer = nullptr;  ///< may be null
  /// Another listener of lanes, attempts, decisions and ends of evaluations, such as a Shadow; may be null. Not for
  /// nomad-grid.
  server::Listener* extra_listener = nullptr;
  /// Receives a line per event of a simulated cluster (living/log_lines.h); empty: none is made.
  std::function<void(const base::LogLine&)> log;
  std::size_t arrivals_max = 0;  ///< most jobs to play; 0: all
};

/// The state of a workload's cluster after all events due by `at_ns` of its time, in turn and by one worker, so that it
/// is always the same. Not for nomad-grid, whose cells have separate clusters.
[[nodiscard]] Result<model::ClusterState> state_at(const sim::Workload& workload, std::int64_t at_ns);

/// Replays a workload. Errors come from its data: file, place, problem, remedy.
[[nodiscard]] Result<RunResult> run_workload(const sim::Workload& workload, const RunOptions& options);

}  // namespace berth::run
