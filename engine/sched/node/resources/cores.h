// Kind of resource: reserved cores of tasks (R-RANK-641, 642).
#pragma once

#include <optional>

#include "sched/node/building.h"

namespace berth::sched {

/// Whether free cores can tell of such a group at all.
[[nodiscard]] bool cores_tell(const FitParts& parts, const tables::CompiledGroup& group);
/// What a group that asks for cores makes of a node's amounts, the speed of the cores that it gets there with them:
/// that is all an option has to know of them (source/core_use.h). Nothing: the option has to be built to tell.
[[nodiscard]] std::optional<PlainFit> fit_by_cores(FitParts& parts, tables::NodeRow row,
                                                   const tables::CompiledGroup& group);
/// The same of a node that the plan does not touch, whose ports leave it to amounts.
[[nodiscard]] std::optional<PlainFit> fit_untouched_by_cores(FitParts& parts, tables::NodeRow row,
                                                             const tables::NodeCapacity& capacity,
                                                             const tables::CompiledGroup& group);
bool decide_by_free_cores(FitParts& parts, tables::NodeRow row, const GroupView& view, Cell& cell);
bool assign_free_cores(Building& building, TaskGets& gets);

inline bool decide_by_cores(FitParts& parts, tables::NodeRow row, const GroupView& view, Cell& cell) {
  return view.group->has_cores && decide_by_free_cores(parts, row, view, cell);
}
inline bool enter_cores(Building& building) {
  if (!building.group().has_cores) return true;
  building.parts.cores.clear();
  building.parts.proposed.merge_cores(building.row, building.parts.cores);
  return true;
}
inline bool assign_cores(Building& building, TaskGets& gets) {
  return gets.ask.cores == 0 || assign_free_cores(building, gets);
}

}  // namespace berth::sched
