// The system stack: one Select on one given node (R-FEAS-302, R-RANK-202, 221, 1109), for system and sysbatch jobs and
// for tests of their in-place updates. No limit, no affinities or spreads.
//
// Every Select drops the class verdicts (R-FEAS-412), so a node's verdict depends on the node alone, which makes it
// cheap. The first failing check is cached per (group, computed class, check profile): the checks of a simple group
// read nothing else. The fit reads two cache lines of amounts. Groups with ports, devices, cores, volumes or
// distinct_property, and nodes that need evictions, use the parts shared with the generic stack.
#pragma once

#include "sched/stack/select_parts.h"

namespace berth::sched {

class SystemStack {
 public:
  explicit SystemStack(Scratch& scratch) : parts_(scratch) {}
  SystemStack(const SystemStack&) = delete;  // its parts hold references to each other

  /// Begins an attempt; set_job() must follow. `evict`: every Select may have victims.
  void start(const tables::Snapshot& snapshot, PlanRows& plan, bool evict);
  void set_job(const tables::CompiledJob& job, const StackConfig& config);
  /// Sets the candidates whose counts go into the metrics. `nodes` must outlive the attempt.
  void set_candidates(const ReadyNodes& nodes, std::uint32_t base_set);

  /// One Select on `row` for the name `<job Name>.<group>[<name_index>]`. `probe`: a test for an update in place, whose
  /// victims are not evicted (R-PREEMPT-807); without the quirk it finds none.
  [[nodiscard]] std::optional<Selected> select(tables::NodeRow row, std::uint32_t group, std::uint32_t name_index,
                                               bool probe = false);
  /// The check that the node is known to fail in a Select: a reason id, or kReasonNone.
  [[nodiscard]] std::uint32_t known_failure(tables::NodeRow row, std::uint32_t group);
  void add_class(std::vector<Count>& classes, tables::NodeRow row) const {
    parts_.counts.add_class(classes, parts_.attempt.snapshot->nodes.capacity(row).class_code);
  }
  /// True if the last Select's node failed a check.
  [[nodiscard]] bool was_filtered() const { return parts_.counts.filtered > 0; }
  /// Counts of the last Select; the lists are valid until the next one.
  [[nodiscard]] SelectMetrics counted() const { return parts_.counts.metrics(); }
  /// Counts of the last Select, copied to the attempt's arena.
  [[nodiscard]] SelectMetrics take_metrics();
  /// Adds the candidates' counts, and the pool's name if `names_pool` (R-FEAS-116).
  void add_candidates(SelectMetrics& metrics, bool names_pool) const;
  /// Adds the score record of the node just selected (R-RANK-902, 1006).
  void add_score(SelectMetrics& metrics, double final_score);

  // Changes to the plan by the scheduler (PlanEffects).
  void preempt(const Selected& selected) { parts_.preempt(selected); }
  void placed(const PlannedAlloc& alloc) { parts_.effects.placed(alloc); }
  void stopped(std::uint32_t index) { parts_.effects.stopped(index); }
  void updated(std::uint32_t index) { parts_.effects.updated(index); }
  bool pop_stop(tables::AllocRow alloc) { return parts_.effects.pop_stop(alloc); }
  void forget_last_stop() { parts_.effects.forget_last_stop(); }
  /// True if the plan has a new allocation on the node.
  [[nodiscard]] bool places_on(tables::NodeRow node) const { return parts_.effects.places_on(node); }

  /// True if a blocked evaluation has escaped constraints. With the quirk, the groups' flags are lost (R-FEAS-412).
  [[nodiscard]] bool has_escaped() const {
    return parts_.attempt.quirks.system_escapes_lost ? parts_.attempt.job->escapes : parts_.checks.has_escaped();
  }
  [[nodiscard]] const std::string& error() const { return parts_.attempt.error; }
  [[nodiscard]] const std::vector<std::string>& missing_resources() const {
    return parts_.checks.volumes.missing_resources;
  }
  [[nodiscard]] std::uint32_t port_collision_events() const { return parts_.counts.port_events; }

 private:
  [[nodiscard]] bool passes(Position& position, GroupView& view);

  SelectParts parts_;
  bool evict_ = false;
  const tables::CompiledGroup* network_group_ = nullptr;  // group whose network settings apply
  const Cell* cell_ = nullptr;                            // of the last Select
  struct NodeScore {
    ScoredNode node;
    double values[2];
  };
  std::span<NodeScore> node_scores_;  // room for score records
};

}  // namespace berth::sched
