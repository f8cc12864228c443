// The stage that decides which candidates of a block pass the checks of job and group, and appends those. Once the
// class of each node was seen, the class decides. It also counts the candidates that do not pass.
#pragma once

#include "sched/source/passing_nodes.h"
#include "sched/stack/select_parts.h"

namespace berth::sched {

class BlockChecks : Source {
 public:
  BlockChecks(SelectParts& parts, PassingNodes& nodes) : Source(parts), nodes_(nodes) {}

  void begin(const GroupView& view);
  /// Checks the candidates from `order.prepared` to `end`. It has no effect that others see: a candidate counts once
  /// the cursor passes it.
  void check(std::uint32_t end, GroupView& view);
  /// Records a candidate that is known to fail from an earlier evaluation.
  void note_failing(std::uint32_t position, const ReadyNodes::Candidate& candidate, GroupView& view);
  [[nodiscard]] bool fails(std::uint32_t computed_class) const { return class_state_[computed_class] == kClassFails; }
  /// True if the ledger had class verdicts when the group was begun.
  [[nodiscard]] bool resumed() const { return resumed_; }
  /// True if the group requests host volumes.
  [[nodiscard]] bool has_volumes() const { return volumes_; }

  /// Counts the candidates at positions [start, end), past the wrap, that do not pass: `counts.filtered` of them. Those
  /// below `visited` were visited before.
  void count_filtered(std::uint32_t start, std::uint32_t end, std::uint32_t visited);

 private:
  enum ClassState : std::uint8_t { kClassUnknown, kClassPasses, kClassFails };
  struct FirstReason {
    std::uint32_t position, reason;
  };
  struct NodeReason {
    std::uint32_t position, reason, computed_class;
  };

  template <bool kPerClass>
  void find_passing(std::uint32_t end, GroupView& view);
  bool passes_by_node(std::uint32_t position, tables::NodeRow row, std::uint32_t computed_class, GroupView& view);
  [[nodiscard]] ClassState known_state(std::uint32_t class_id, std::uint32_t group) const;
  void drop_without_volumes(std::uint32_t first_entry);
  std::int32_t count_node_reasons(std::uint32_t start, std::uint32_t end, std::uint32_t visited);
  std::int32_t count_without_volumes(std::uint32_t start, std::uint32_t end);

  PassingNodes& nodes_;
  bool resumed_ = false, volumes_ = false;
  std::vector<ClassState> class_state_;     // by computed class
  std::vector<FirstReason> first_reasons_;  // of the first node of each failing class; ascending
  std::size_t next_reason_ = 0;             // of first_reasons_, not counted yet
  std::vector<NodeReason> node_reasons_;    // of nodes that fail a check that their class does not decide; ascending
  SelectCounts::Tally classes_;
};

}  // namespace berth::sched
