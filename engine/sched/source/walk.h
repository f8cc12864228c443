// The general source: node by node in visiting order, each checked and ranked through its cell. Everything that a
// Select can be asked goes this way; the other sources must equal it.
#pragma once

#include "sched/stack/select_parts.h"

namespace berth::sched {

class Walk : Source {
 public:
  explicit Walk(SelectParts& parts) : Source(parts) {}

  [[nodiscard]] std::optional<Found> select(GroupView& view);
  /// The node `row` alone, which need not be a candidate, in the position behind them, decided anew every time.
  [[nodiscard]] std::optional<Found> select_one(tables::NodeRow row, GroupView& view);

  /// Final score of a feasible node. False: nothing is placed there, which is counted. The score of one that is not
  /// among the best so far may be too high.
  bool rank(std::uint32_t position, GroupView& view, double& final_score);
  /// Node and components at a position that the last Select ranked.
  [[nodiscard]] const Cell& ranked(std::uint32_t position) const;
  [[nodiscard]] Found found(std::uint32_t position, double score) const;

 private:
  template <bool kDetailed>
  [[nodiscard]] std::optional<Found> visit(GroupView& view);
  void prefetch_evicting(std::uint32_t position);
};

/// The best of those considered so far, in order; the first ones with a score of 0 or less wait aside (R-RANK-411, 412,
/// 421). `id` is whatever the source counts by.
struct Best {
  std::uint32_t id = tables::kNoRow;
  double score = 0;
  std::int64_t returned = 0;
  std::uint32_t aside_count = 0;
  std::uint32_t aside[kSetAside] = {};
  double aside_score[kSetAside] = {};

  /// `exhaustive`: nobody waits.
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
