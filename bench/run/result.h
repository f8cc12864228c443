// Results of a run: plain values, filled by the runner and shown by report.h.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "run/allocation_count.h"
#include "run/cluster_samples.h"
#include "run/kind_times.h"
#include "run/life_result.h"
#include "run/nomad_times.h"
#include "run/waits.h"
#include "sched/source/sources.h"
#include "server/eval_book.h"
#include "sim/histogram.h"
#include "sim/packing.h"
#include "sim/rate_series.h"
#include "sim/workload.h"

namespace berth::run {

/// One cell of Nomad's grid.
struct CellResult {
  int cell = 0;
  std::uint32_t nodes = 0, racks = 0;
  std::int64_t allocs = 0, placed = 0;
  bool spread = false;
  std::int64_t nomad_ns = 0;             ///< Nomad's fastest repetition
  std::int64_t berth_ns = 0;             ///< berth's fastest repetition, with a warm worker
  std::int64_t berth_first_ns = 0;       ///< with a new worker, right after registration: the state is in no cache
  std::int64_t berth_new_worker_ns = 0;  ///< the fastest of some other new workers, with only their own memory cold
  bool decisions_equal = false;          ///< every node and every score bit
  std::string difference;                ///< the first difference as text
};

struct Latencies {
  sim::Histogram total, queue, schedule, commit;  ///< ns; one value per placement
};

/// Interaction of several workers.
struct ParallelResult {
  // Free commits.
  std::uint64_t plans = 0;               ///< submitted
  std::uint64_t conflicts = 0;           ///< plans with a refused node
  std::uint64_t partial = 0;             ///< of these, committed in part
  std::uint64_t retries = 0;             ///< attempts after a refusal
  std::uint64_t gave_up = 0;             ///< evaluations whose attempts ran out
  std::uint64_t exceptions = 0;          ///< evaluations whose worker threw
  std::uint64_t plan_errors = 0;         ///< plans that failed as a whole
  std::uint64_t failed = 0;              ///< evaluations that reached the delivery limit
  std::uint64_t left = 0;                ///< evaluations still in the broker at the end
  std::int64_t lost = 0;                 ///< evaluations that disappeared; 0 unless berth has a bug
  std::uint64_t arrivals_when_idle = 0;  ///< jobs that arrived while all workers were idle
  // Commits in turn.
  std::uint64_t ahead_used = 0, ahead_redone = 0, ahead_inline = 0;  ///< decisions made ahead of their turn
  // Both.
  std::int64_t apply_ns = 0;                      ///< in the applier
  std::vector<std::int64_t> busy_ns;              ///< per worker
  std::int64_t turn_ns = 0;                       ///< time that the Turn, the right to change the state, was held
  std::uint64_t turns = 0, turn_waits = 0;        ///< number of Turns; how often a thread slept for one
  std::uint64_t switches = 0;                     ///< voluntary context switches of all threads
  std::uint64_t chunks_copied = 0;                ///< copied at writes because a snapshot held them
  std::uint64_t view_rows = 0, view_columns = 0;  ///< copied by workers to update their views
  sim::Histogram snapshot_age;                    ///< state indexes between snapshot and commit, one value per plan
  sim::Histogram submit_wait;                     ///< ns from decided to applied, one value per plan
};

/// Counts of work for decisions. With one worker they are equal in every run of one build and workload.
struct Work {
  std::uint64_t nodes_evaluated = 0;         ///< visited by placements, including failed ones (R-RANK-1001)
  std::uint64_t nodes_filtered = 0;          ///< of these, failing a check
  std::uint64_t nodes_exhausted = 0;         ///< of these, without room
  std::uint64_t nodes_scored = 0;            ///< of these, the others
  std::uint64_t constraint_evaluations = 0;  ///< without cached answers
  std::uint64_t snapshots = 0;               ///< taken for decisions, including retries and repeated decisions
  std::uint64_t preempted_allocs = 0;
  std::int64_t preempted_cpu_mhz = 0, preempted_memory_mb = 0;
  sched::SourceCounts sources;  ///< sources that served Selects of service and batch jobs
};

/// Evaluations that found no room.
struct BlockedResult {
  std::array<std::uint64_t, server::kCauses> unblocked{};  ///< evaluations, by server::Cause
  std::uint64_t reblocked = 0;                             ///< runs that found no room again
  std::uint64_t duplicates = 0;                            ///< replaced by another one of the same job
  std::uint64_t batches = 0;                               ///< batches of client reports (R-CTRL-749)
};

struct RunResult {
  sim::Workload workload;
  std::size_t nodes = 0, templates = 0, load_allocs = 0;
  std::size_t arrivals = 0;            ///< jobs of the workload
  std::vector<std::string> estimates;  ///< of an imported cluster: what its arrivals were estimated from

  std::string ended;     ///< "complete", or why the run ended early
  bool partial = false;  ///< not everything was replayed
  double setup_s = 0;    ///< reading, generating and loading
  double elapsed_s = 0;  ///< of the replay, on the machine's clock
  double busy_s = 0;     ///< of these, not waiting for arrivals
  double cpu_s = 0;      ///< processor time of all threads during the replay, least disturbed by a busy machine
  double virtual_s = 0;  ///< the workload's own time, including idle time

  std::uint64_t jobs = 0;         ///< registered
  std::uint64_t evaluations = 0;  ///< processed, including retries of blocked ones
  std::uint64_t retries = 0;      ///< of these, after an unblock
  std::uint64_t blocked_evaluations = 0, blocked_at_end = 0, departed = 0;
  BlockedResult blocked;
  std::uint64_t joined = 0;                         ///< nodes that joined during the run
  std::uint64_t asked = 0, placed = 0, failed = 0;  ///< placements; failed = requested but not placed at the end
  std::uint64_t replaced = 0;  ///< not in these: of versions replaced by a newer one before they were placed
  std::uint64_t refused = 0;   ///< placements that the plan applier refused
  std::map<std::string, std::uint64_t> failed_reasons;       ///< failed placements by main reason
  std::map<std::string, std::uint64_t> unsupported_reasons;  ///< evaluations this build cannot process

  Work work;
  std::optional<AllocationCount> allocations;  ///< during the replay, if the program counts them
  ParallelResult parallel;
  sim::RateSeries rate;  ///< placements over busy seconds; not for nomad-grid
  Latencies latency;
  sim::Histogram evaluation_latency;  ///< one value per evaluation, ns
  sim::Packing packing;
  std::vector<ClusterSample> over_time;  ///< spread evenly over the arrivals; not for nomad-grid
  NodeMap map;
  std::string hdr_log;  ///< latency of placements by seconds of the run as HdrHistogram log; "" if not requested
  std::uint64_t peak_rss_bytes = 0, table_bytes = 0;
  std::map<std::string, double> further;  ///< measures without a member here, by their path in the report
  std::string decisions_digest;
  std::string workload_sha256;      ///< of the workload's file
  std::string data_sha256;          ///< of its data files, in order of reading; "" without any
  std::vector<CellResult> cells;    ///< nomad-grid only
  KindTimes kinds;                  ///< of a replayed mix
  std::optional<LifeResult> life;   ///< of a workload with [life]
  std::optional<WaitResult> waits;  ///< of a replay in turn whose allocations end
  std::optional<NomadTimes> nomad;  ///< of a workload with which the real Nomad was timed completely

  /// True if the workers mostly waited for the next job. Rates then show the speed of arrivals and of waking threads,
  /// not of the workers.
  [[nodiscard]] bool arrivals_set_rate() const { return 2 * parallel.arrivals_when_idle > jobs; }
  [[nodiscard]] double placements_per_second() const { return busy_s <= 0 ? 0 : static_cast<double>(placed) / busy_s; }
  [[nodiscard]] double evaluations_per_second() const {
    return busy_s <= 0 ? 0 : static_cast<double>(evaluations) / busy_s;
  }
};

}  // namespace berth::run
