// Whether it is plain to see that no candidate has room, from the columns of what is free. A pass without eviction then
// finds nothing, and all that it leaves behind are the verdicts of classes.
#pragma once

#include "sched/source/columns.h"

namespace berth::sched {

class FullCheck : Source {
 public:
  FullCheck(SelectParts& parts, const Columns& columns) : Source(parts), columns_(columns) {}

  /// False says nothing.
  [[nodiscard]] bool holds(GroupView& view);

 private:
  [[nodiscard]] bool fails_by_figures(const GroupView& view) const;
  [[nodiscard]] bool may_take(tables::NodeRow row, GroupView& view);

  const Columns& columns_;
};

/// Whether checks tell no nodes of one computed class apart, and what fits follows from what a node has free alone.
[[nodiscard]] bool is_plain_ask(const Attempt& attempt, const NodeChecks& checks, const GroupView& view);

}  // namespace berth::sched
