// The general source: visits node by node in visiting order, and checks and ranks each through its cell. It serves
// every Select; the other sources must return the same results.
#pragma once

#include "sched/stack/select_parts.h"

namespace berth::sched {

class Walk : Source {
 public:
  explicit Walk(SelectParts& parts) : Source(parts) {}

  [[nodiscard]] std::optional<Found> select(GroupView& view);
  /// Decides the node `row` alone, which need not be a candidate. It uses the position behind the candidates and no
  /// cached result.
  [[nodiscard]] std::optional<Found> select_one(tables::NodeRow row, GroupView& view);

  /// Computes the final score of a feasible node. False: the group does not fit, and the node is counted as exhausted.
  /// The score of a node that is not among the best so far may be too high.
  bool rank(std::uint32_t position, GroupView& view, double& final_score);
  /// Returns the cell, with the score components, of a position that the last Select ranked.
  [[nodiscard]] const Cell& ranked(std::uint32_t position) const;
  [[nodiscard]] Found found(std::uint32_t position, double score) const;

 private:
  template <bool kDetailed>
  [[nodiscard]] std::optional<Found> visit(GroupView& view);
  void prefetch_evicting(std::uint32_t position);
};

/// The best option so far, in visiting order. The first options with a score of 0 or less are set aside (R-RANK-411,
/// 412, 421). `id` is the index that the source uses for its nodes.
struct Best {
  std::uint32_t id = tables::kNoRow;
  double score = 0;
  std::int64_t returned = 0;
  std::uint32_t aside_count = 0;
  std::uint32_t aside[kSetAside] = {};
  double aside_score[kSetAside] = {};

  /// `exhaustive`: no option is set aside.
  explicit Best(bool exhaustive) : aside_count(exhaustive ? kSetAside : 0) {}
  [[nodiscard]] bool sets_aside() const { return aside_count < kSetAside; }
  void offer(std::uint32_t candidate, double value) {
    if (value <= 0.0 && sets_aside()) {
      aside[aside_count] = candidate;
      aside_score[aside_count++] = value;
      return;
    }
    take(candidate, value);
  }
  void take(std::uint32_t candidate, double value) {
    ++returned;
    if (id == tables::kNoRow || value > score) id = candidate, score = value;
  }
  void take_aside(std::int64_t limit) {
    for (std::uint32_t i = 0; i < aside_count && returned < limit; ++i) take(aside[i], aside_score[i]);
  }
};

}  // namespace berth::sched
