// The generic stack: one Select finds a node for one allocation of a task group (R-FEAS-3xx, R-RANK-2xx).
//
// select() asks the sources of candidates in turn which of them can serve: the index, the bounds after a pass that
// needs no look, the columns, and the Walk, which can always. What a Select leaves behind for the next one is the
// cursor, the limit and the class ledger (node/class_ledger.h), whichever source answered it. Threads: a stack belongs
// to one worker and one attempt at a time.
#pragma once

#include "sched/source/best_by_bounds.h"
#include "sched/source/best_by_index.h"
#include "sched/source/few_with_room.h"
#include "sched/source/full_check.h"

namespace berth::sched {

class GenericStack {
 public:
  explicit GenericStack(Scratch& scratch) : parts_(scratch) {}
  GenericStack(const GenericStack&) = delete;  // its parts know each other by address

  /// A new attempt on `snapshot`: fresh class cache, limit, cursor. `plan` is the attempt's plan, empty at the start.
  void start(const tables::Snapshot& snapshot, PlanRows& plan);
  /// No-op when the version is the one given last (R-FEAS-310, R-RANK-215).
  void set_job(const tables::CompiledJob& job, const StackConfig& config);
  /// The candidates in ascending ID (Candidates::set).
  [[nodiscard]] Result<void> set_nodes(const ReadyNodes& nodes, std::uint32_t base_set, std::string_view eval_id,
                                       std::size_t placements = 1);

  /// One Select for the group at position `group` of the job's list.
  [[nodiscard]] std::optional<Selected> select(std::uint32_t group, const SelectOptions& options);
  /// One Select among the node `row` alone, which need not be a candidate (R-FEAS-213, R-SCHED-112). The candidates'
  /// cursor is where it was; whoever prefers a node rewinds it.
  [[nodiscard]] std::optional<Selected> select_one(tables::NodeRow row, std::uint32_t group,
                                                   const SelectOptions& options);
  /// Whether the only placement of an attempt of which `memo` answers the last Select would fail again for certain on
  /// this state; then it counts as made. Right after start(), without a job or candidates. False says nothing.
  [[nodiscard]] bool fails_again(FailureMemo& memo, const tables::CompiledJob& job);
  /// The memo that answers the last Select of this attempt, which made one placement that failed; null: there is none,
  /// or it made more.
  [[nodiscard]] const FailureMemo* only_failure() const;
  void rewind() { parts_.candidates.offset = 0; }  ///< R-FEAS-212
  /// Metrics of the last Select, copied into the attempt's arena; into `out`, which is empty.
  void take_metrics(SelectMetrics& out);

  /// State index that seeds the visiting order from the next set_nodes() on; 0: the snapshot's.
  void set_order_index(std::uint64_t index) { parts_.candidates.order_index = index; }
  /// Appends the rows of the nodes whose use this attempt looked at; false when that may be any node.
  [[nodiscard]] bool rows_read(std::vector<tables::NodeRow>& out) const;

  // What the scheduler does to the plan (PlanEffects).
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
  /// Why processing must end (R-FEAS-933, R-RANK-618); empty when nothing happened.
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
  using Room = FailedBefore::Room;
  /// Consecutive Selects of one group, as far as the next one goes by the last one.
  struct Run {
    const tables::CompiledGroup* group = nullptr;
    SourceKind source = SourceKind::general;  ///< that answered the last Select
    /// It was the columns', and but for their own state another Select of the group is the same: no spread, property
    /// or volume, and nothing but its placement followed.
    bool repeats = false;
  };
  /// Whether the next Select is that of the run again.
  [[nodiscard]] bool continues(std::uint32_t group, const SelectOptions& options) const {
    return run_.repeats && run_.group == &parts_.attempt.job->groups[group] && !parts_.detail && !options.evict &&
           !options.then_evict && options.penalty_nodes.empty();
  }
  [[nodiscard]] Room known_room(GroupView& view, bool was_few);
  [[nodiscard]] bool fails_evicting_again(GroupView& view);
  /// Whether a source that serves these needs may answer the Select under way.
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
  FailedBefore failed_before_{parts_, columns_};
  FewWithRoom few_{parts_};
  BestByIndex index_{parts_};
  BestByBounds bounds_{parts_, walk_};
  FullCheck full_{parts_};
  Run run_;
  std::vector<std::pair<std::uint32_t, bool>> class_codes_;
  std::vector<Count> first_pass_reasons_;  // of the pass before the evicting ones (R-FEAS-1605)
};

}  // namespace berth::sched
