// GarbageCollector: removes evaluations, allocations, jobs, deployments and nodes that are no longer needed (section 14
// of part 07).
//
// In Nomad each run is a core evaluation of its kind, serialised by the broker and processed by a worker. Here a run
// takes no simulated time: advance() performs the due runs in the order of the table of section 14. Cost of a run:
// reads a few bytes of every row of its table, and the allocations of evaluations that are old and have ended
// allocations. Threads: the writer's only.
#pragma once

#include "fsm/node_requests.h"
#include "lifecycle/outbox.h"
#include "lifecycle/timers.h"

namespace berth::lifecycle {

enum class GcKind : std::uint8_t { evals, jobs, nodes, deployments };
inline constexpr std::size_t kGcKinds = 4;

/// Minimum age of the objects that a run removes.
struct GcThresholds {
  std::int64_t age_ns = 0;
  std::int64_t batch_eval_age_ns = 0;  ///< of evaluations of type `batch`; only eval-gc reads it
};

struct GcConfig {
  std::int64_t interval_ns = 300'000'000'000;                 ///< of each kind; 0: runs only on request
  GcThresholds evals{3'600'000'000'000, 86'400'000'000'000};  ///< R-CTRL-1401
  GcThresholds jobs{14'400'000'000'000, 0};                   ///< R-CTRL-1402
  GcThresholds nodes{86'400'000'000'000, 0};                  ///< R-CTRL-1403
  GcThresholds deployments{3'600'000'000'000, 0};             ///< R-CTRL-1404
  std::size_t ids_per_entry_max = 7281;                       ///< R-CTRL-1413
  std::size_t jobs_per_entry_max = 2048;                      ///< R-CTRL-1410
};

class GarbageCollector {
 public:
  /// `next_id` gives the IDs of the evaluations that deregistering nodes creates.
  GarbageCollector(fsm::StateLog& log, std::function<std::string()> next_id, const GcConfig& config = {})
      : log_(log), nodes_(log, std::move(next_id)), config_(config) {}

  /// Starts the timers, as a new leader does.
  void become_leader(std::int64_t now);
  [[nodiscard]] std::int64_t next_deadline() const { return timers_.next(); }
  void advance(std::int64_t now, Outbox& out);

  void run(GcKind kind, std::int64_t now, Outbox& out);
  void run(GcKind kind, const GcThresholds& thresholds, std::int64_t now, Outbox& out);
  /// Collects everything older than a millisecond (R-CTRL-1405, 1414).
  void force(std::int64_t now, Outbox& out);

 private:
  struct Garbage;
  void collect_evals(const GcThresholds& thresholds, std::int64_t now, Outbox& out);
  void collect_jobs(const GcThresholds& thresholds, std::int64_t now, Outbox& out);
  void collect_nodes(const GcThresholds& thresholds, std::int64_t now, Outbox& out);
  void collect_deployments(const GcThresholds& thresholds, std::int64_t now, Outbox& out);
  void reap(Garbage& garbage, std::int64_t now, Outbox& out);

  fsm::StateLog& log_;
  fsm::NodeRequests nodes_;
  GcConfig config_;
  Timers timers_;                            // by GcKind
  std::vector<tables::AllocRow> keeps_job_;  // by JobKeyRow: an allocation that kept the job at the last run
};

}  // namespace berth::lifecycle
