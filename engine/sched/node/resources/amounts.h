// Kind of resource: cpu, memory, disk, and the number of allocations, with all cores in use (R-RANK-645 to 647).
#pragma once

#include "sched/node/building.h"

namespace berth::sched {

bool judge_amounts(Building& building);
/// Chooses victims for a group without ports, devices and cores, on a node that holds none. Writes fit and score to
/// `cell`, which has the exhausted dimension.
void evict_by_amounts(FitParts& parts, tables::NodeRow row, const GroupView& view, Cell& cell);

}  // namespace berth::sched
