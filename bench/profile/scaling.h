// What several free workers share, and a model of more workers than the machine has cores for.
//
// A run with one and a run with two free workers, all jobs due at once, count per evaluation: work that workers do at
// the same time, and work that they do one after the other, because it needs the Turn (the right to change the state)
// or the mutex of the tables. The model is a closed queue: each worker works `work_ns` by itself, then needs the one
// server of the queue for `serial_ns`. Mean value analysis gives its throughput.
#pragma once

#include <array>
#include <vector>

#include "profile/recorder.h"
#include "tables/written_lines.h"

namespace berth::profile {

/// Result of mean value analysis.
struct QueueRate {
  double per_ns = 0;   ///< evaluations, all workers together
  double wait_ns = 0;  ///< per evaluation, for the server of the queue
  double busy = 0;     ///< share of the time in which that server works
};
/// Exact mean value analysis of a closed queue with one server. Each of the `workers` works for `work_ns` by itself,
/// then is served for `serial_ns`; both times are exponentially distributed.
[[nodiscard]] QueueRate closed_queue(double work_ns, double serial_ns, int workers);

/// One run with free workers. Means per evaluation in ns, over all threads.
struct SharedTimes {
  int workers = 0;
  std::uint64_t evaluations = 0;
  double per_s = 0;     ///< evaluations, measured
  double attempts = 0;  ///< decisions
  /// By locks and stage: the workers' threads, without the time in which they had nothing to do.
  std::array<std::array<double, base::kStages>, base::kLocks> ns{};
  double arrival_turn_ns = 0;  ///< the Turn held by the thread that registers jobs

  [[nodiscard]] double with(base::Locks locks) const;  ///< sum over stages, without waits for an answer
  [[nodiscard]] double work_ns() const { return with(base::Locks::none); }
  /// The Turn, by workers; without their waits for the tables.
  [[nodiscard]] double turn_ns() const { return with(base::Locks::turn); }
  [[nodiscard]] double view_ns() const { return with(base::Locks::tables); }
  [[nodiscard]] double serial_ns() const { return turn_ns() + view_ns() + arrival_turn_ns; }
  /// For the answer of a thread that applies the plan.
  [[nodiscard]] double answer_wait_ns() const;
};
[[nodiscard]] SharedTimes shared_times(const Recorder& recorder, int workers, double busy_s);

struct ModelRow {
  int workers = 0;
  double work_ns = 0, serial_ns = 0;
  double per_s = 0;       ///< evaluations, by the model
  double busy = 0;        ///< share of the time in which the serial part is in use
  double measured_s = 0;  ///< evaluations per second, measured; 0: predicted only
};
/// Rows for one and two workers, each from its own run, and for `more`. For these, times are those of the run with two
/// workers, except for what grows with every worker: updates of views (each worker applies the changes of all others)
/// and attempts after refused plans. Both continue the line from one to two workers.
[[nodiscard]] std::vector<ModelRow> model_rows(const SharedTimes& one, const SharedTimes& two,
                                               const std::vector<int>& more);

struct Scaling {
  SharedTimes one, two;         ///< of several runs in turn the one with the median rate
  std::vector<ModelRow> model;  ///< for 1, 2, 16 and 64 workers
  /// Cache lines of the tables written per evaluation, by one worker in turn: by plans, and by everything else (status
  /// of the evaluation, registration of the next job).
  tables::WrittenTables by_plans, by_others;
  std::uint64_t counted = 0;  ///< evaluations over which these are sums
};

/// Counts written cache lines in a run with one worker in turn. Marks no stages.
class LineCounter final : public run::Observer {
 public:
  /// `every`: counts one commit in this many.
  explicit LineCounter(std::uint64_t every) : every_(every) {}
  base::StageClock* new_clock() override { return nullptr; }
  bool detailed(std::uint64_t, std::uint32_t) override { return false; }
  void committing(const tables::StateStore& store) override;
  void committed(const tables::StateStore& store) override;
  void evaluation(const run::EvalRecord&) override {}

  /// Sums over `commits` plans, and over the time from each of them to the next plan.
  [[nodiscard]] const tables::WrittenTables& by_plans() const { return by_plans_; }
  [[nodiscard]] const tables::WrittenTables& by_others() const { return by_others_; }
  [[nodiscard]] std::uint64_t commits() const { return commits_; }

 private:
  const std::uint64_t every_;
  std::uint64_t seen_ = 0, commits_ = 0;
  bool counts_rest_ = false;
  tables::SnapshotRef before_;
  tables::WrittenTables by_plans_, by_others_;
};

/// Error unless the workload has jobs that could all be due at once.
[[nodiscard]] Result<void> check_scaling(const sim::Workload& workload);
/// Runs the workload, which must have passed check_scaling(), with all jobs due at once.
[[nodiscard]] Result<Scaling> measure_scaling(const sim::Workload& workload);

[[nodiscard]] std::string scaling_lines(const Scaling& scaling);
[[nodiscard]] json::Value to_json(const Scaling& scaling);

}  // namespace berth::profile
