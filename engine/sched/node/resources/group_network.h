// Kind of resource: ports of the group's network (R-RANK-611 to 618).
//
// Comes after the devices and before the cores: an allocation evicted for its port still holds its devices
// (R-PREEMPT-515 rebuilds only the network index, R-PREEMPT-607 the devices), but no longer its cores (R-RANK-641).
#pragma once

#include "sched/node/building.h"

namespace berth::sched {

bool enter_group_network(Building& building);

}  // namespace berth::sched
