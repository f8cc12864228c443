// The system stack: one Select on one named node (R-FEAS-302, R-RANK-202, 221, 1109), for system and sysbatch jobs and
// for probing their in-place updates. No limit, no wishes.
//
// Every Select forgets the class verdicts (R-FEAS-412), so a node's verdict is its own: a function of the node alone.
// That makes it cheap. The first failing check is remembered per (group, computed class, check profile), which hold
// between them all that the checks of a plain group read; the fit comes from the node's two lines of figures. Groups
// with ports, devices, cores, volumes or distinct_property, and nodes on which something has to be evicted, go through
// the parts that they share with the generic stack.
#pragma once

#include "sched/stack/select_parts.h"

namespace berth::sched {

class SystemStack {
 public:
  explicit SystemStack(Scratch& scratch) : parts_(scratch) {}
  SystemStack(const SystemStack&) = delete;  // its parts know each other by address

  /// A new attempt; set_job() follows. `evict`: every Select may have victims.
  void start(const tables::Snapshot& snapshot, PlanRows& plan, bool evict);
  void set_job(const tables::CompiledJob& job, const StackConfig& config);
  /// Whose counts go into the metrics; the lists stay with the caller.
  void set_candidates(const ReadyNodes& nodes, std::uint32_t base_set);

  /// One Select on `row` for the name `<job Name>.<group>[<name_index>]`. `probe`: for an update in place, whose
  /// victims nobody evicts (R-PREEMPT-807); without the quirk it looks for none.
  [[nodiscard]] std::optional<Selected> select(tables::NodeRow row, std::uint32_t group, std::uint32_t name_index,
                                               bool probe = false);
  /// The check that the node is known to fail, which a Select would find as well: a reason id, kReasonNone if none is.
  [[nodiscard]] std::uint32_t known_failure(tables::NodeRow row, std::uint32_t group);
  /// Counts a node by its class.
  void add_class(std::vector<Count>& classes, tables::NodeRow row) const {
    parts_.counts.add_class(classes, parts_.attempt.snapshot->nodes.capacity(row).class_code);
  }
  /// Whether the last Select's node failed a check.
  [[nodiscard]] bool was_filtered() const { return parts_.counts.filtered > 0; }
  /// What the last Select counted; the lists are valid until the next one.
  [[nodiscard]] SelectMetrics counted() const { return parts_.counts.metrics(); }
  /// Likewise, in the attempt's arena.
  [[nodiscard]] SelectMetrics take_metrics();
  /// R-FEAS-116: adds the candidates' counts, and the pool's name if `names_pool`.
  void add_candidates(SelectMetrics& metrics, bool names_pool) const;
  /// Adds the score record of the node just selected (R-RANK-902, 1006).
  void add_score(SelectMetrics& metrics, double final_score);

  // What the scheduler does to the plan (PlanEffects).
  void preempt(const Selected& selected) { parts_.preempt(selected); }
  void placed(const PlannedAlloc& alloc) { parts_.effects.placed(alloc); }
  void stopped(std::uint32_t index) { parts_.effects.stopped(index); }
  void updated(std::uint32_t index) { parts_.effects.updated(index); }
  bool pop_stop(tables::AllocRow alloc) { return parts_.effects.pop_stop(alloc); }
  void forget_last_stop() { parts_.effects.forget_last_stop(); }
  /// Whether the plan has a new allocation on the node.
  [[nodiscard]] bool places_on(tables::NodeRow node) const { return parts_.effects.places_on(node); }

  /// Whether a blocked evaluation has escaped: the groups' flags are lost (R-FEAS-412), without the quirk kept.
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
  const tables::CompiledGroup* network_group_ = nullptr;  // whose network network parameters are in force
  const Cell* cell_ = nullptr;                            // of the last Select
  struct NodeScore {
    ScoredNode node;
    double values[2];
  };
  std::span<NodeScore> node_scores_;  // room for score records
};

}  // namespace berth::sched
