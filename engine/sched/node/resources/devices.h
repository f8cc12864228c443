// Kind of resource: devices of tasks (R-RANK-631 to 637).
#pragma once

#include "sched/node/building.h"

namespace berth::sched {

/// Decides by the number of free instances, if no request distinguishes between them. Instances are assigned only on
/// the chosen node. Same verdicts, dimensions and scores as the option's.
bool decide_by_free_devices(FitParts& parts, tables::NodeRow row, const GroupView& view, Cell& cell);
bool assign_free_devices(Building& building, TaskGets& gets);

inline bool decide_by_devices(FitParts& parts, tables::NodeRow row, const GroupView& view, Cell& cell) {
  return view.group->has_devices && decide_by_free_devices(parts, row, view, cell);
}
inline bool enter_devices(Building& building) {
  if (building.group().has_devices) building.parts.proposed.enter_devices(building.row);
  return true;
}
inline bool assign_devices(Building& building, TaskGets& gets) {
  if (gets.ask.devices) return assign_free_devices(building, gets);
  gets.out.devices.clear();
  return true;
}

}  // namespace berth::sched
