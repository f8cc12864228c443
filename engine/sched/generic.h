// The service and batch scheduler: one evaluation from snapshot to plan and status (part 06 of the specification).
//
// An attempt compares the job with its allocations (reconcile), puts stops and updates into the plan and places what
// is missing, one Select each. A job without allocations skips the comparison: its placements are its groups' counts.
#pragma once

#include "reconcile/cluster.h"
#include "sched/evaluation.h"
#include "sched/in_place.h"
#include "sched/stack/stack.h"

namespace berth::sched {

class GenericScheduler {
 public:
  explicit GenericScheduler(Scratch& scratch) : scratch_(scratch), stack_(scratch) {}

  /// Exhaustive mode: every Select takes the best of all nodes instead of stopping at Nomad's limit. A tie goes to the
  /// first in visiting order. Scores come from the same code.
  void set_exhaustive(bool exhaustive) { settings_.exhaustive = exhaustive; }
  /// Exhaustive mode: allows Selects to omit the metrics of placements (SelectMetrics::deferred), so that an index that
  /// outlives evaluations can answer. complete_metrics() computes them.
  void set_defer_metrics(bool defer) { settings_.defer_metrics = defer; }
  /// Computes the deferred metrics of `result` by repeating the last attempt on its state, which must still exist.
  /// `eval` and `provider` as in process(). The metrics then live until the next evaluation starts.
  void complete_metrics(const EvalFacts& eval, rank::OrderProvider provider, EvalResult& result);
  /// Sources that may answer Selects; they change neither decisions nor metrics.
  void set_sources(EnabledSources sources) { settings_.sources = sources; }

  /// State index that seeds the visiting order (R-FEAS-202), for evaluations that are decided before their turn; 0: the
  /// snapshot's index.
  void set_order_index(std::uint64_t index) { stack_.set_order_index(index); }
  /// Appends the rows of the nodes whose use the last evaluation read; false if it may have read any node.
  [[nodiscard]] bool rows_read(std::vector<tables::NodeRow>& out) const {
    return was_new_ && !(job_ && job_->gang) && stack_.rows_read(out);
  }

  /// Processes one evaluation on `snapshot`; plans and created evaluations go to `planner`. A refused plan is computed
  /// again on the state that the planner returned.
  void process(const tables::Snapshot& snapshot, const EvalFacts& eval, rank::OrderProvider provider, IdStream& ids,
               Planner& planner, EvalResult& result);
  /// Processes without a planner: the caller commits the plan in `result`.
  void process(const tables::Snapshot& snapshot, const EvalFacts& eval, rank::OrderProvider provider, IdStream& ids,
               EvalResult& result);

 private:
  class Updates;
  struct Missing;
  struct Placing;

  AttemptEnd attempt(Planner& planner);
  bool fails_again();
  void keep_failure();
  [[nodiscard]] bool nothing_gets_due() const;
  /// On false, `given_.result` holds an error.
  bool plan_missing(bool is_new) { return is_new ? place_new() : reconcile_job(); }
  bool place_new();
  bool reconcile_job();
  void apply_result();
  [[nodiscard]] bool names_followups() const;
  [[nodiscard]] std::uint32_t followup_of(std::int32_t followup) const;
  void apply_deployment();
  void apply_stops();
  void apply_updates();
  bool place_all();
  bool place(const Missing& missing);
  [[nodiscard]] Placing placing_of(const Missing& missing);
  void heed_previous(std::uint32_t previous, const tables::CompiledGroup& group, SelectOptions& options);
  void add_placed(const Missing& missing, const Placing& placing, std::uint32_t group, Selected& selected);
  [[nodiscard]] std::optional<Selected> select(std::uint32_t group, SelectOptions& options, tables::NodeRow preferred,
                                               bool may_evict);
  PlannedAlloc& add_alloc(Selected& selected, std::uint32_t group, std::uint32_t name_index);
  [[nodiscard]] const tables::CompiledJob* older_version(const Missing& missing, base::Uuid& deployment) const;
  [[nodiscard]] tables::NodeRow preferred_node(const Missing& missing) const;
  void stop(std::uint32_t position, tables::Description description, std::optional<tables::Client> client = {},
            std::uint32_t followup = tables::kNoRow);
  void mark_not_placed(std::uint32_t position);
  void note_replaced(std::uint32_t position);
  void take_over_tasks(const Missing& missing, PlannedAlloc& alloc);
  [[nodiscard]] tables::VersionRow version_of(const tables::CompiledJob& job) const;
  bool use_version(const tables::CompiledJob& job, bool reload, std::size_t placements);
  bool failed_to_process();
  // gang.cc
  struct Sets;
  void begin_again();
  [[nodiscard]] std::vector<std::uint32_t> values_in_use(std::span<const tables::AllocRow> stopped = {},
                                                         bool all = false) const;
  [[nodiscard]] std::vector<std::uint32_t> values_that_stay() const;
  [[nodiscard]] std::vector<std::uint32_t> values_in_order();
  bool place_gang(bool is_new);
  void drop_placements();
  void keep_to_values();
  bool place_within_values(bool is_new);
  bool try_sets(Sets& sets);
  bool gang_is_over();
  bool limit_gang(Planner& planner);
  void write_eligibility();
  [[nodiscard]] const model::Quirks& quirks() const { return scratch_.options.quirks; }
  [[nodiscard]] bool preempts(const tables::CompiledJob& job) const;
  [[nodiscard]] static std::uint32_t group_position(const tables::CompiledJob& job, tables::Symbol name);
  [[nodiscard]] StackConfig config_for(const tables::CompiledJob& job) const;

  Scratch& scratch_;
  GenericStack stack_;
  struct {
    bool exhaustive = false, defer_metrics = false;
    EnabledSources sources;
  } settings_;
  bool was_new_ = false;  // the job of the last attempt had no allocations

  // Current evaluation.
  Given given_;
  std::vector<std::pair<tables::AllocRow, base::Uuid>> written_followups_;  // R-RECON-154; outlive attempts
  struct {                                                                  // of the evaluation of a gang
    bool limited = false;                                                   // its time limit's evaluation was created
    model::Evaluation limit;                                                // the evaluation at its time limit
    bool keeps_others = false;                                              // may not evict
    std::vector<std::uint32_t> values{};                                    // topology codes of the nodes to place on
  } gang_;

  // Current attempt.
  const tables::CompiledJob* job_ = nullptr;             // null: purged
  std::shared_ptr<const model::Deployment> deployment_;  // the latest in the state
  bool deployment_is_active_ = false;                    // the current deployment
  JobAllocs allocs_;
  reconcile::ClusterReconciler reconciler_;
  reconcile::ClusterResult reconciled_;
  std::vector<std::pair<const tables::ResourceShape*, std::shared_ptr<const tables::ResourceShape>>> in_place_;
  std::uint16_t placing_deployment_ = 0;  // position in the plan's deployment_ids (R-SCHED-59, 72)
  std::vector<tables::NodeRow> penalty_nodes_;
  std::string name_;
};

}  // namespace berth::sched
