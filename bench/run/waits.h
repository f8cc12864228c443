// How long the jobs of a run wait, and how fairly, on the workload's own clock. All values are per job:
//
//   wait         s   from its arrival until an evaluation left nothing of it to be placed. Jobs never placed whole are
//                    counted apart. A job that gets a new version while it waits waits on: from its first arrival until
//                    its version of that moment is placed whole
//   completion   s   from its arrival until its last allocation ended; only jobs with a run time that were not evicted
//   slowdown     1   completion / run time; 1 if it never waited. Jobs without run time have none
//   deadlines    1   share of the jobs with a deadline and a run time whose last allocation ended by it
//   makespan     s   from the first arrival to the last completion
//   fairness     1   Jain's index over namespaces, (sum x)^2 / (n sum x^2), of their mean progress x: run time /
//                    completion, 0 for a job that did not complete. 1: all are delayed alike; 1/n: only one got any
//
// Jain, Chiu, Hawe: A Quantitative Measure of Fairness, DEC-TR-301, 1984. Memory: 56 bytes per job.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/job_stream.h"
#include "tables/state.h"

namespace berth::run {

struct JobTimes {
  std::int64_t arrived_ns = 0, placed_ns = -1;  ///< placed: the last allocation; < 0: not all of them
  std::int64_t run_time_ns = sim::kNeverEnds;
  std::int64_t end_ns = -1;       ///< of the allocation that ends last
  std::int64_t deadline_ns = -1;  ///< by which it should have ended; < 0: none
  std::uint32_t space = 0;        ///< number of its namespace
  bool counts = false, evicted = false;
};

/// Percentiles by nearest rank.
struct Spread {
  double mean = 0, p50 = 0, p99 = 0;
};

struct WaitResult {
  std::uint64_t jobs = 0, never_placed = 0, completed = 0;
  Spread wait_s, completion_s, slowdown;
  double makespan_s = 0, fairness = 1;
  std::uint64_t with_deadline = 0, deadlines_met = 0;
  [[nodiscard]] double deadlines_met_share() const {
    return with_deadline == 0 ? 1 : static_cast<double>(deadlines_met) / static_cast<double>(with_deadline);
  }
};
[[nodiscard]] WaitResult measure_waits(std::span<const JobTimes> jobs);

/// Collects the times of a replay in turn. Leaves out system jobs, whose size depends on the nodes, and new versions of
/// jobs that were placed whole before.
class JobWaits {
 public:
  explicit JobWaits(std::size_t arrivals) : jobs_(arrivals) {}

  void arrived(const tables::Snapshot& state, tables::JobKeyRow job, const sim::JobStream& jobs, std::size_t number);
  /// Allocations of the job were placed that run for `run_time_ns`. `whole`: nothing is left to be placed.
  void placed(tables::JobKeyRow job, std::int64_t at_ns, std::int64_t run_time_ns, bool whole) {
    JobTimes* const times = of(job);
    if (!times || times->placed_ns >= 0) return;
    if (run_time_ns >= 0) times->end_ns = std::max(times->end_ns, at_ns + run_time_ns);
    if (whole) times->placed_ns = at_ns;
  }
  void evicted(tables::JobKeyRow job) {
    if (JobTimes* const times = of(job)) times->evicted = true;
  }
  [[nodiscard]] WaitResult result() const { return measure_waits(jobs_); }

 private:
  /// Null: the job does not count.
  [[nodiscard]] JobTimes* of(tables::JobKeyRow job) {
    return job < number_of_.size() && number_of_[job] < jobs_.size() ? &jobs_[number_of_[job]] : nullptr;
  }

  std::vector<JobTimes> jobs_;            // by arrival
  std::vector<std::uint32_t> number_of_;  // by JobKeyRow: its first arrival
};

}  // namespace berth::run
