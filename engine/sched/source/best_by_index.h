// Kept by attempt. A fast source of exhaustive mode over many nodes for few placements: the best of all by NodeIndex,
// which outlives the evaluation, so that a Select costs neither a pass over the nodes nor their number in memory
// traffic.
//
// The nodes that the attempt's plan or the job's own allocations touch score otherwise than the index says (what the
// plan changes there, anti-affinity): they are left out of it and kept in a heap of exact scores. The best of all is
// the better of the two; ties go to the lower position, which the order `identity` visits first.
// Metrics are deferred, as counting who has no room would cost the pass that is spared.
#pragma once

#include "sched/stack/select_parts.h"

namespace berth::sched {

class BestByIndex : Source {
 public:
  explicit BestByIndex(SelectParts& parts) : Source(parts) {}

  static constexpr Needs kServes{Need::exhaustive,   Need::evict_follows, Need::plan_stops,
                                 Need::plan_updates, Need::mixed_kinds,   Need::no_ask_number};
  /// Whether the index can answer the Select under way, which has such needs; made ready at the first one of a group.
  [[nodiscard]] bool is_ready(GroupView& view);
  [[nodiscard]] std::optional<Found> select(GroupView& view);
  /// The plan changed the node.
  void touch(tables::NodeRow row) {
    if (nodes_) changed_.push_back(row);
  }
  /// Another job, another list of candidates: the next Select starts it anew.
  void forget();

 private:
  struct Touched {
    double score;
    std::uint32_t position, overlay, stamp;
  };
  void make_ready(GroupView& view);
  void decide_touched(tables::NodeRow row, GroupView& view);

  const tables::CompiledGroup* group_ = nullptr;  // what it was made ready for; null: nothing
  NodeIndex* nodes_ = nullptr;                    // null: does not serve them
  rank::IndexAsk ask_;
  std::vector<std::uint8_t> class_passes_;  // by place in ReadyNodes::of_class
  std::vector<tables::NodeRow> changed_;    // that the plan touched since the last Select
  std::vector<std::uint32_t> stamp_;        // by overlay: how often it was decided
  std::vector<Touched> touched_;  // heap of the nodes that the plan touched, best first; stale ones among them
  std::vector<std::uint32_t> asked_of_classes_;
  bool asked_ = false;                   // `rest_` is known
  std::optional<NodeIndex::Best> rest_;  // the best of the other nodes
};

}  // namespace berth::sched
