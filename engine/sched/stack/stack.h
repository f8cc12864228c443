// The generic stack: one Select finds a node for one allocation of a task group (R-FEAS-3xx, R-RANK-2xx).
//
// select() tries the sources of candidates in turn: the index, the table of the request, the bounds if the full check
// answered the previous pass, the columns, and the Walk, which serves every Select. Only the cursor, the limit and the
// class ledger (node/class_ledger.h) carry over to the next Select, whichever source answered. Threads: a stack belongs
// to one worker and one attempt at a time.
#pragma once

#include "sched/source/best_by_bounds.h"
#include "sched/source/best_by_index.h"
#include "sched/source/by_table.h"
#include "sched/source/full_check.h"

namespace berth::sched {

class GenericStack {
 public:
  explicit GenericStack(Scratch& scratch) : parts_(scratch) {}
  GenericStack(const GenericStack&) = delete;  // its parts hold references to each other

  /// Begins an attempt on `snapshot`: empty class cache, initial limit and cursor. `plan` is the attempt's plan, empty.
  void start(const tables::Snapshot& snapshot, PlanRows& plan);
  /// No-op if the version is the current one (R-FEAS-310, R-RANK-215).
  void set_job(const tables::CompiledJob& job, const StackConfig& config);
  /// Sets the candidates, in ascending ID (Candidates::set).
  [[nodiscard]] Result<void> set_nodes(const ReadyNodes& nodes, std::uint32_t base_set, std::string_view eval_id,
                                       std::size_t placements = 1);

  /// From now on in this attempt, nodes must pass the set. Call between set_job() and the first Select.
  void keep_to(feasible::PropertySet domain) { parts_.checks.distinct.keep_to(std::move(domain)); }

  /// One Select for the group at position `group` of the job's list.
  [[nodiscard]] std::optional<Selected> select(std::uint32_t group, const SelectOptions& options);
  /// One Select on the node `row` alone, which need not be a candidate (R-FEAS-213, R-SCHED-112). The candidates'
  /// cursor does not move; a caller that prefers a node must rewind() it.
  [[nodiscard]] std::optional<Selected> select_one(tables::NodeRow row, std::uint32_t group,
                                                   const SelectOptions& options);
  /// True if a new attempt, whose only Select this table answers, is certain to fail again on this state; the Select
  /// then counts as made. Call right after start(), without job or candidates. False: undecided.
  [[nodiscard]] bool fails_again(const AskKey& table, const tables::CompiledJob& job);
  /// The table of the last Select, if this attempt made a single placement and it failed; otherwise null.
  [[nodiscard]] const AskTable* only_failure() const;
  void rewind() { parts_.candidates.offset = 0; }  ///< R-FEAS-212
  /// Copies the metrics of the last Select to the attempt's arena and into `out`, which must be empty.
  void take_metrics(SelectMetrics& out);

  /// State index that seeds the visiting order from the next set_nodes() on; 0: the snapshot's index.
  void set_order_index(std::uint64_t index) { parts_.candidates.order_index = index; }
  /// Appends the rows of the nodes whose use this attempt read; false if it may have read any node.
  [[nodiscard]] bool rows_read(std::vector<tables::NodeRow>& out) const;

  // Changes to the plan by the scheduler (PlanEffects).
  void preempt(const Selected& selected) {
    if (!selected.victims.empty()) parts_.preempt(selected);
  }
  void placed(const PlannedAlloc& alloc);
  void stopped(std::uint32_t index);
  void updated(std::uint32_t index);
  bool pop_stop(tables::AllocRow alloc);
  void forget_last_stop() { parts_.effects.forget_last_stop(); }
  [[nodiscard]] plan::PlannedUpdate* update_of(tables::AllocRow alloc) const { return parts_.effects.update_of(alloc); }

  /// Class verdicts merged over job and groups (R-FEAS-1701).
  void class_verdicts(tables::ClassVerdicts& out);
  [[nodiscard]] bool has_escaped() const { return parts_.checks.has_escaped(); }
  /// Why processing must end (R-FEAS-933, R-RANK-618); empty if there is no error.
  [[nodiscard]] const std::string& error() const { return parts_.attempt.error; }
  [[nodiscard]] const std::vector<std::string>& missing_resources() const {
    return parts_.checks.volumes.missing_resources;
  }
  [[nodiscard]] std::uint32_t port_collision_events() const { return parts_.counts.port_events; }

 private:
  friend struct MemoryAccess;
  GroupView& begin_select(std::uint32_t group, const SelectOptions& options);
  [[nodiscard]] std::optional<Found> find(GroupView& view);
  [[nodiscard]] std::optional<Selected> select_again(const SelectOptions& options);
  using Room = ByTable::Room;
  /// State of consecutive Selects of one group, which the next one may reuse.
  struct Run {
    const tables::CompiledGroup* group = nullptr;
    SourceKind source = SourceKind::general;  ///< source of the last Select
    /// True if the columns answered and the next Select of the group repeats it: no spread, property or volume, and
    /// only its own placement was added to the plan since.
    bool repeats = false;
  };
  /// True if the next Select continues the run.
  [[nodiscard]] bool continues(std::uint32_t group, const SelectOptions& options) const {
    return run_.repeats && run_.group == &parts_.attempt.job->groups[group] && !parts_.detail && !options.evict &&
           !options.then_evict && options.penalty_nodes.empty();
  }
  [[nodiscard]] Room known_room(GroupView& view, bool was_few);
  [[nodiscard]] bool fails_evicting_again(GroupView& view);
  /// True if a source that serves these needs may answer the current Select.
  [[nodiscard]] bool may(Switch source, Needs served) const {
    return parts_.attempt.enabled.has(source) && tables::serves(served, parts_.needs);
  }
  void use(SourceKind source) {
    run_.source = source;
    parts_.attempt.scratch.source_counts.add(source);
  }
  void touch(tables::NodeRow row);

  SelectParts parts_;
  Walk walk_{parts_};
  Columns columns_{parts_};
  ByTable table_{parts_, columns_};
  BestByIndex index_{parts_};
  BestByBounds bounds_{parts_, walk_};
  FullCheck full_{parts_};
  Run run_;
  std::vector<std::pair<std::uint32_t, bool>> class_codes_;
  std::vector<Count> first_pass_reasons_;  // of the pass before the evicting one (R-FEAS-1605)
};

}  // namespace berth::sched
