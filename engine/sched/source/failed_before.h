// A fast source for an evaluation that is tried again, as those that wait for capacity are: nobody had room when its
// Select failed, and what changed since is looked at.
//
// A memo per failed group says of each candidate that passes the checks which figure was short. It follows the state by
// the logs of the node table. As long as no node that changed has room, the Select fails again and counts what a pass
// over all nodes would: who is filtered follows from the verdicts of the classes, who is exhausted is kept as counts.
//
//   shorts     1 B per node row: position in `counts`, 0: not among those that pass
//   counts     12 B per (node class, dimension)
// Memos of a worker take 32 MiB at most, or those of four jobs; the oldest goes. O(changed nodes + classes) a Select.
#pragma once

#include <memory>
#include <vector>

#include "sched/source/columns.h"

namespace berth::sched {

class FailedBefore : Source {
 public:
  FailedBefore(SelectParts& parts, const Columns& columns) : Source(parts), columns_(columns) {}

  /// Whether the Select under way fails for certain; then it is counted.
  [[nodiscard]] bool holds(GroupView& view);
  /// The columns found nobody; they hold on to why.
  void remember(const GroupView& view);

 private:
  [[nodiscard]] bool serves(const GroupView& view) const;
  bool follow(FailureMemo& memo, GroupView& view);
  [[nodiscard]] bool is_still_short(const FailureMemo& memo, tables::NodeRow row,
                                    const tables::CompiledGroup& group) const;
  void count(const FailureMemo& memo, GroupView& view);

  const Columns& columns_;
  std::vector<tables::NodeRow> changed_;
};

}  // namespace berth::sched
