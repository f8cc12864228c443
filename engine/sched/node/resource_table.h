// The kinds of resources, in the order in which they are examined and reported (R-RANK-601 to 662).
//
// To add a kind: write a file in resources/ with its steps, and add a line here. If jobs request it, give it a Need
// (tables/needs.h); until a fast source serves this need, the walk answers.
#pragma once

#include <array>
#include <utility>

#include "sched/node/resource_kind.h"
#include "sched/node/resources/amounts.h"
#include "sched/node/resources/cores.h"
#include "sched/node/resources/devices.h"
#include "sched/node/resources/group_network.h"
#include "sched/node/resources/ports.h"
#include "sched/node/resources/task_network.h"

namespace berth::sched {

// clang-format off
inline constexpr std::array kResourceKinds = {
    //           name             decide             enter                assign               judge
    ResourceKind{"ports",         decide_by_ports,   enter_ports},
    ResourceKind{"task_network",  nullptr,           nullptr,             assign_task_network},
    ResourceKind{"devices",       decide_by_devices, enter_devices,       assign_devices},
    ResourceKind{"group_network", nullptr,           enter_group_network},
    ResourceKind{"cores",         decide_by_cores,   enter_cores,         assign_cores},
    ResourceKind{"amounts",       nullptr,           nullptr,             nullptr,             judge_amounts},
};
// clang-format on

/// Calls visit(kind) for each kind in use, in order, while it returns true. False if one call did. The calls of the
/// table's functions are direct.
template <class Visit>
bool each_resource(const Scratch& scratch, Visit visit) {
  if (scratch.resources.empty()) [[likely]]
    return [&]<std::size_t... kAt>(std::index_sequence<kAt...>) { return (visit(kResourceKinds[kAt]) && ...); }
  (std::make_index_sequence<kResourceKinds.size()>());
  return std::all_of(scratch.resources.begin(), scratch.resources.end(), visit);
}

/// True if some kind decides the node by columns. Tried from last to first: every node may hold ports, while devices
/// and cores concern few groups and return false at once for the others.
inline bool decide_by_columns(FitParts& parts, tables::NodeRow row, const GroupView& view, Cell& cell) {
  const auto decides = [&](const ResourceKind& kind) { return kind.decide && kind.decide(parts, row, view, cell); };
  const std::span<const ResourceKind> others = parts.scratch.resources;
  if (others.empty()) [[likely]]
    return [&]<std::size_t... kAt>(std::index_sequence<kAt...>) {
      return (decides(kResourceKinds[kResourceKinds.size() - 1 - kAt]) || ...);
    }
  (std::make_index_sequence<kResourceKinds.size()>());
  return std::any_of(others.rbegin(), others.rend(), decides);
}

}  // namespace berth::sched
