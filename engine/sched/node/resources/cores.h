// Kind of resource: reserved cores of tasks (R-RANK-641, 642).
#pragma once

#include <optional>

#include "sched/node/building.h"

namespace berth::sched {

/// The cores that a request for `count` would get on the node while `more` are held as well as those of the state, from
/// the column of held cores and the node's CoreTable. nullopt: an option has to be built.
[[nodiscard]] std::optional<tables::CoreTable::Gift> free_cores(const tables::Snapshot& state, tables::NodeRow row,
                                                                std::uint64_t count,
                                                                std::span<const std::uint16_t> more = {});
/// True if the free cores can decide the fit of such a group.
[[nodiscard]] bool cores_decide(const FitParts& parts, const tables::CompiledGroup& group);
/// The fit by amounts of a group that requests cores, with the speed of the cores that it would get on the node; an
/// option needs nothing else of them. nullopt: an option has to be built.
[[nodiscard]] std::optional<PlainFit> fit_by_cores(FitParts& parts, tables::NodeRow row,
                                                   const tables::CompiledGroup& group);
/// The same for a node that the plan does not touch and on which ports do not affect the fit.
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
