// A kind of resource that a group may request of a node, as an entry of a table (resource_table.h). It decides how much
// the node's proposed allocations leave, and what the group would hold (R-RANK-601 to 662).
//
// A kind takes part in up to four steps. Each may be null. A step that fails writes the reason to
// `Building::option.dimension`.
//
//   decide    once per node, without an option: from numeric columns
//   enter     once per option: adds what is held on the node, and assigns the group's own resources
//   assign    once per task, in the order of the tasks
//   judge     once per option, after all tasks; skipped for a node that is known to fit
#pragma once

#include "tables/needs.h"
#include "tables/node_table.h"

namespace berth::sched {

struct Building;
struct Cell;
struct FitParts;
struct GroupView;
struct TaskGets;

struct ResourceKind {
  /// True: `cell` has the verdict. False: the columns cannot decide.
  using Decide = bool (*)(FitParts& parts, tables::NodeRow row, const GroupView& view, Cell& cell);
  /// False: the group does not fit.
  using Step = bool (*)(Building& building);
  using Assign = bool (*)(Building& building, TaskGets& gets);

  const char* name;
  Decide decide = nullptr;
  Step enter = nullptr;
  Assign assign = nullptr;
  Step judge = nullptr;
  bool examines_all = false;  ///< it reads every proposed allocation, not only those with ports, devices or cores
  /// Needs of every Select while the kind is in the table. If no fast source serves one of them, the walk answers and
  /// builds an option on every node, which is slower but correct.
  tables::Needs adds = {};
};

}  // namespace berth::sched
