// A kind of resource that a group may ask of a node, as one entry of a table (resource_table.h): how much of it is left
// beside the node's proposed allocations, and what the group would get (R-RANK-601 to 662).
//
// A kind takes part in up to four steps. Each may be null. A step that fails writes why to
// `Building::option.dimension`.
//
//   decide    of a node at a time, without an option: by what numeric columns tell
//   enter     once per option: what is held on the node, and what the group as a whole gets
//   assign    once per task, in the order of the tasks
//   judge     once per option, when all tasks have what they get; left out for a node that is known to fit
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
  /// True: `cell` has the verdict. False: the columns do not tell.
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
  /// Needs of every Select while the kind is in the table. One that no fast source serves sends it to the walk, and
  /// every node of it to the option, which is slower but right.
  tables::Needs adds = {};
};

}  // namespace berth::sched
