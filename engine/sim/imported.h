// An imported cluster as the input of a run: its state at the start, and jobs that arrive as they seem to have arrived.
//
//   start        the imported state without its evaluations: pending ones are not decided
//   families     a job with its stored versions, or all launches of a periodic or parameterized job; one template each
//   rate         registrations of a family over the window that the data cover. Services, and jobs that end, have
//                separate windows, because Nomad soon removes jobs that have ended
//   run times    of jobs that end: drawn from the finished allocations of the family, else from those of all families
//   ends         of allocations that ran at the import: a run time longer than the time that they have already run
//
// All draws come from the workload's seed. Jobs that were removed before the import are unknown.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "berth/result.h"
#include "model/alloc.h"
#include "sim/generated_cluster.h"
#include "sim/job_stream.h"
#include "sim/workload.h"

namespace berth::sim {

struct RunTime {
  std::int64_t ns = 0;
  bool failed = false;
  friend auto operator<=>(const RunTime&, const RunTime&) = default;
};
/// Of a finished allocation: from the start of the first task to the end of the last one; without task times, from
/// creation to the last change.
[[nodiscard]] RunTime run_time_of(const model::Allocation& alloc);

/// Reads the cluster at `path`, anything that `berth import` reads from files. `notes` gets a line if the import had
/// warnings.
[[nodiscard]] Result<GeneratedCluster> imported_cluster(const std::string& path, std::vector<std::string>& notes);

/// Estimates the arrivals, and sets the ends of the cluster's running allocations. Arrivals are [jobs] `count`, or as
/// many as were registered within the windows. `notes` gets what was estimated from what, one line each. Error: there
/// is nothing to estimate from.
[[nodiscard]] Result<JobStream> estimated_jobs(GeneratedCluster& cluster, const Workload& workload,
                                               const std::string& path, std::vector<std::string>& notes);

}  // namespace berth::sim
