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
//   finish-time  1   completion / what it would be on an n-th of the cluster that only its namespace uses, where n is
//   ratio            the number of namespaces and jobs start in the order of arrival as they fit. A job that is larger
//                    than that part runs longer by as much. Above 1: the namespace would be better off alone. Jobs
//                    that never end are left out (Mahajan et al., Themis, NSDI 2020, with namespaces for applications)
//   gangs            jobs that start whole or not at all (model/gang.h): how many started, how many were given up
//                    because their time was over, and the waits of those that started
//   lost         s   of allocations that were evicted, the time that they had run; a sum, not per job
//   use          1   mean over the run's time of the share of cpu and of memory in use
//
// Jain, Chiu, Hawe: A Quantitative Measure of Fairness, DEC-TR-301, 1984. Memory: 56 bytes per job, 8 per allocation.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/job_stream.h"
#include "sim/packing.h"
#include "tables/job_table.h"

namespace berth::run {

struct JobTimes {
  std::int64_t arrived_ns = 0, placed_ns = -1;  ///< placed: the last allocation; < 0: not all of them
  std::int64_t run_time_ns = sim::kNeverEnds;
  std::int64_t end_ns = -1;       ///< of the allocation that ends last
  std::int64_t deadline_ns = -1;  ///< by which it should have ended; < 0: none
  double demand = 0;              ///< dominant share of the cluster that all its allocations hold together
  std::uint32_t space = 0;        ///< number of its namespace
  bool counts = false, evicted = false, gang = false, given_up = false;
};

/// What all allocations of a job hold together. Reserved cores, whose cpu depends on the node, count as none.
[[nodiscard]] sim::Amounts demand_of(const tables::CompiledJob& job);

/// Percentiles by nearest rank.
struct Spread {
  double mean = 0, p50 = 0, p99 = 0, max = 0;
};

struct WaitResult {
  std::uint64_t jobs = 0, never_placed = 0, completed = 0;
  Spread wait_s, completion_s, slowdown, finish_time_ratio;
  double makespan_s = 0, fairness = 1;
  double lost_s = 0, cpu_share = 0, memory_share = 0;
  std::uint64_t with_deadline = 0, deadlines_met = 0;
  std::uint64_t gangs = 0, gangs_started = 0, gangs_given_up = 0;
  Spread gang_wait_s;
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
  /// Call when the cluster is loaded.
  void start(const tables::Snapshot& state);

  void arrived(const tables::Snapshot& state, tables::JobKeyRow job, const sim::JobStream& jobs, std::size_t number);
  /// Allocations of the job were placed that run for `run_time_ns`. `whole`: nothing is left to be placed.
  void placed(tables::JobKeyRow job, std::int64_t at_ns, std::int64_t run_time_ns, bool whole) {
    JobTimes* const times = of(job);
    if (!times || times->placed_ns >= 0) return;
    if (run_time_ns >= 0) times->end_ns = std::max(times->end_ns, at_ns + run_time_ns);
    if (whole) times->placed_ns = at_ns, times->given_up = false;
  }
  /// Allocations start at `at_ns`, from row `first`, or one ends.
  void started(const tables::Snapshot& state, tables::AllocRow first, std::uint32_t count, std::int64_t at_ns);
  void ended(const tables::Snapshot& state, tables::AllocRow alloc, std::int64_t at_ns);
  /// An allocation of the job is evicted.
  void evicted(tables::JobKeyRow job, tables::AllocRow alloc, std::int64_t at_ns);
  /// The job, whose allocations were all evicted, waits again.
  void waits_again(tables::JobKeyRow job) {
    if (JobTimes* const times = of(job)) times->evicted = false, times->placed_ns = times->end_ns = -1;
  }
  /// The job is a gang whose time is over.
  void gave_up(tables::JobKeyRow job) {
    if (JobTimes* const times = of(job)) times->given_up = true;
  }
  [[nodiscard]] WaitResult result() const;

 private:
  /// Null: the job does not count.
  [[nodiscard]] JobTimes* of(tables::JobKeyRow job) {
    return job < number_of_.size() && number_of_[job] < jobs_.size() ? &jobs_[number_of_[job]] : nullptr;
  }

  std::vector<JobTimes> jobs_;            // by arrival
  std::vector<std::uint32_t> number_of_;  // by JobKeyRow: its first arrival
  std::vector<std::int64_t> started_ns_;  // by AllocRow: those that started during the run
  sim::Amounts capacity_, used_;
  void use_until(std::int64_t at_ns);
  std::int64_t at_ns_ = 0, lost_ns_ = 0;
  double cpu_mhz_s_ = 0, memory_mb_s_ = 0;  // use x time until at_ns_
};

}  // namespace berth::run
