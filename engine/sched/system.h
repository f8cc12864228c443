// The system and sysbatch schedulers: one evaluation from snapshot to plan and status (sections 13.3 to 16 of part 06).
//
// Stages of an attempt, each over flat lists:
//   gather     nodes to visit and their allocations             system_input.h
//   reconcile  assigns allocations and missing names to lists   reconcile/node.h
//   stop       puts stops, marks, in-place updates in the plan  R-SCHED-124, 115 to 118
//   limit      limits the number of destructive updates         R-SCHED-149 to 152
//   place      one Select per tuple on its own node             R-SCHED-156 to 167, system_stack.h
//   deploy     deployment, canaries, completion                 R-SCHED-168 to 189, system_deployment.cc
// Threads: one worker.
#pragma once

#include "reconcile/node.h"
#include "sched/evaluation.h"
#include "sched/stack/system_stack.h"
#include "sched/system_input.h"

namespace berth::sched {

class InPlaceCheck;

class SystemScheduler {
 public:
  explicit SystemScheduler(Scratch& scratch) : scratch_(scratch), stack_(scratch) {}

  /// Processes one evaluation of a system or sysbatch job (EvalFacts::type) on `snapshot`. `planner` takes plans and
  /// created evaluations. A state that it refreshes to must outlive the call.
  void process(const tables::Snapshot& snapshot, const EvalFacts& eval, IdStream& ids, Planner& planner,
               EvalResult& result);

 private:
  using Tuple = reconcile::NodeTuple;
  /// Counts of an attempt for one group of the job.
  struct Group {
    std::int64_t candidates = 0;          // R-SCHED-148
    std::int64_t canaries = 0;            // running ones that the reconciler ignores
    std::int64_t destructive = 0;         // destructive updates
    std::int64_t limit = 0;               // R-SCHED-149
    bool has_candidates = false;          // at least one tuple was counted
    bool exists = false;                  // one of its allocations stays (R-SCHED-126)
    SelectMetrics filtered;               // sum of the filtered placements (R-SCHED-158)
    std::vector<Count> reasons, classes;  // its reasons and classes so far
    bool has_filtered = false, reported = false;
    void clear();
  };

  AttemptEnd attempt();
  void begin_attempt();
  void run_reconciler();
  void choose_deployment();
  void shuffle_nodes();
  void add_groups();
  void stop_tuples(const std::vector<Tuple>& tuples, tables::Description description,
                   std::optional<tables::Client> client = std::nullopt);
  void stop(tables::AllocRow row, tables::Description description, std::optional<tables::Client> client);
  void update_in_place();
  bool try_in_place(const Tuple& tuple, InPlaceCheck& check);
  void count_updates();
  void limit_updates();
  void evict_and_place(const Tuple& tuple);
  void limit_updates_of_job();
  [[nodiscard]] bool continue_later();
  bool place();
  bool failed_to_process();
  bool place_one(const Tuple& tuple);
  bool fails_again(const Tuple& tuple, std::uint32_t group);
  void no_option(const Tuple& tuple, std::uint32_t group);
  void give_up(const Tuple& tuple, Group& group);
  void add_filtered(GroupResult& out, Group& group);
  void report_filtered(GroupResult& out, Group& group);
  void deploy();
  void add_status(base::Uuid deployment, std::string_view status, std::string_view description);
  void add_statuses();
  bool update_deployment_state();
  struct PlannedCanary {
    base::Uuid node;
    bool is_new;
    std::uint32_t index;  ///< in the plan's updates, or in its new allocations
  };
  [[nodiscard]] std::vector<PlannedCanary> planned_canaries(std::uint32_t group) const;
  void trim_canaries(std::int64_t required, std::uint32_t group, std::vector<std::string>& canaries);
  void drop_trimmed();

  [[nodiscard]] const model::Quirks& quirks() const { return scratch_.options.quirks; }
  [[nodiscard]] const reconcile::RequiredName& name_of(const Tuple& tuple) const {
    return input_->required[tuple.required];
  }
  [[nodiscard]] tables::AllocRow row_of(const Tuple& tuple) const {
    return tuple.alloc == reconcile::kNoRow ? tables::kNoRow : input_->allocs[tuple.alloc].handle;
  }
  [[nodiscard]] bool is_reconnecting(const Tuple& tuple) const {  // for tuples to update
    return input_->allocs[tuple.alloc].has(reconcile::NodeAlloc::kReconnects);
  }

  Scratch& scratch_;
  SystemStack stack_;
  SystemInput gatherer_;
  reconcile::NodeReconciler reconciler_;

  // Current evaluation.
  Given given_;
  const ReadyNodes* ready_ = nullptr;  // of the last attempt in which the job was not stopped

  // Current attempt.
  const tables::CompiledJob* job_ = nullptr;  // null: purged
  bool stopped_ = false;
  model::Evaluation continuation_;  // R-SEED-34
  const reconcile::NodeInput* input_ = nullptr;
  const reconcile::NodeResult* diff_ = nullptr;
  reconcile::NodeResult shuffled_;  // diff_ in the order of EvalFacts::node_order
  struct {
    bool is_used = true;  // for system jobs, except R-SEED-33
    std::shared_ptr<const model::Deployment> stored;
    std::optional<model::Deployment> current;  // R-SCHED-147
    base::Uuid id;
    std::uint16_t placing = 0;  // position in plan.deployment_ids
  } deploying_;
  std::vector<Group> groups_;  // by position in the job's list
  struct {
    std::vector<Tuple> tuples;  // destructive ones, then completed in-place ones
    std::size_t destructive_count = 0;
    bool limit_reached = false;  // R-SEED-32: some destructive ones are left for later
  } updates_;
  std::vector<Tuple> place_;
  std::vector<std::uint8_t> trimmed_;  // by position in plan.allocs: a surplus canary
  std::vector<std::uint8_t> blocked_;  // by visit, without one_blocked_per_group: the node has a blocked evaluation
};

}  // namespace berth::sched
