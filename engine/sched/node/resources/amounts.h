// Kind of resource: cpu, memory, disk, and the number of allocations, with all cores in use (R-RANK-645 to 647).
#pragma once

#include "sched/node/building.h"

namespace berth::sched {

bool judge_amounts(Building& building);
/// Whom a group without ports, devices and cores evicts from a node where nobody holds any, and the score then, into
/// `cell`, which says what is short.
void evict_by_amounts(FitParts& parts, tables::NodeRow row, const GroupView& view, Cell& cell);

}  // namespace berth::sched
