// Kind of resource: networks of tasks (R-RANK-623, 624).
#pragma once

#include "sched/node/building.h"

namespace berth::sched {

bool assign_asked_network(Building& building, TaskGets& gets);

inline bool assign_task_network(Building& building, TaskGets& gets) {
  return !gets.ask.network || assign_asked_network(building, gets);
}

}  // namespace berth::sched
