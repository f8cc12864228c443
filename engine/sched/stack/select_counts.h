// What the Select under way counts (R-FEAS-1602, R-RANK-1002): nodes evaluated, filtered and exhausted, with reasons.
// A Select meets few distinct reasons, so each list is searched from its beginning.
#pragma once

#include <vector>

#include "sched/scratch.h"

namespace berth::sched {

struct SelectCounts {
  std::int32_t evaluated = 0, filtered = 0, exhausted = 0;
  std::vector<Count> reasons, classes_filtered;      ///< ids of Reasons; codes of the class column
  std::vector<Count> dimensions, classes_exhausted;  ///< likewise
  std::uint32_t empty_class = 0;                     ///< code of the node class "", 0 if no node has it
  std::uint32_t port_events = 0;                     ///< port collisions met in the attempt (R-RANK-608)

  void clear();
  static void add(std::vector<Count>& counts, std::uint32_t what, std::int32_t times = 1) {
    for (Count& c : counts) {
      if (c.what != what) continue;
      c.count += times;
      return;
    }
    counts.push_back({what, times});
  }
  void add_class(std::vector<Count>& classes, std::uint32_t node_class, std::int32_t times = 1) const {
    if (node_class != empty_class) add(classes, node_class, times);
  }
  void filter(std::uint32_t node_class, std::uint32_t reason, std::int32_t times = 1);
  /// Also of a dimension without a metric (R-RANK-612), which counts nothing.
  void exhaust(std::uint32_t node_class, std::uint32_t dimension, std::int32_t times = 1);

  /// Spans of the lists here, or, with an arena, of copies there; then into metrics that are empty.
  [[nodiscard]] SelectMetrics metrics() const;
  void metrics(Arena& arena, SelectMetrics& out) const;
};

}  // namespace berth::sched
