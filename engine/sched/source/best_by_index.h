// Cache by attempt. A fast source of exhaustive mode with many nodes and few placements. It reads the best node from
// NodeIndex, which outlives the evaluation, so a Select needs no pass over the nodes.
//
// The index does not have the right score of nodes that the plan or the job's own allocations touch, because of the
// plan's changes and of anti-affinity. These nodes are left out of the index; a heap holds their exact scores. The
// result is the better of the two. Ties go to the lower position, which the order `identity` visits first.
// Metrics are deferred: counting the nodes without room would cost a pass over the nodes.
#pragma once

#include "sched/stack/select_parts.h"

namespace berth::sched {

class BestByIndex : Source {
 public:
  explicit BestByIndex(SelectParts& parts) : Source(parts) {}

  static constexpr Needs kServes{Need::exhaustive,   Need::evict_follows, Need::plan_stops,
                                 Need::plan_updates, Need::mixed_kinds,   Need::no_ask_number};
  /// True if the index can answer the current Select, whose needs are in kServes. The first Select of a group prepares
  /// the index.
  [[nodiscard]] bool is_ready(GroupView& view);
  [[nodiscard]] std::optional<Found> select(GroupView& view);
  /// The plan changed the node.
  void touch(tables::NodeRow row) {
    if (nodes_) changed_.push_back(row);
  }
  /// For another job or another list of candidates: the next Select prepares the index again.
  void forget();

 private:
  struct Touched {
    double score;
    std::uint32_t position, overlay, stamp;
  };
  void make_ready(GroupView& view);
  void decide_touched(tables::NodeRow row, GroupView& view);

  const tables::CompiledGroup* group_ = nullptr;  // the group it was prepared for; null: none
  NodeIndex* nodes_ = nullptr;                    // null: the index cannot serve this group
  rank::AskedAmounts ask_;
  std::vector<std::uint8_t> class_passes_;  // by place in ReadyNodes::of_class
  std::vector<tables::NodeRow> changed_;    // nodes that the plan touched since the last Select
  std::vector<std::uint32_t> stamp_;        // by overlay: how often it was decided
  std::vector<Touched> touched_;            // heap of touched nodes, best first; entries with an old stamp are stale
  std::vector<std::uint64_t> asked_of_classes_;
  bool asked_ = false;                   // `rest_` is current
  std::optional<NodeIndex::Best> rest_;  // the best of the untouched nodes
};

}  // namespace berth::sched
