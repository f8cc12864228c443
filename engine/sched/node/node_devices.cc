// Fit of a group that asks for devices, without the option: what it needs to know of the instances is how many nobody
// uses. A column of the state tells (tables/held_devices.h), else they are counted. Which instances it gets is settled
// for the chosen node alone (node_option.cc). Same verdicts, dimensions and scores as the option's.
#include <array>

#include "sched/node/node_fit.h"

namespace berth::sched {

using tables::CompiledGroup;
using tables::NodeRow;

namespace {

constexpr std::size_t kGroupsMost = 32;  // of devices on a node; more are for the option

}  // namespace

/// Whether counts of free instances tell: no request makes a difference between them.
bool NodeFit::counts_tell(const GroupView& v) const {
  return tables::serves(kDevices, v.group->needs) && attempt_.by_amounts() && !scratch_.strategy_fit;
}

/// False: the option has to be built to tell.
bool NodeFit::decide_by_free_devices(NodeRow row, const GroupView& v, Cell& cell) {
  const tables::Snapshot& state = *attempt_.snapshot;
  const tables::NodeUse& use = state.nodes.use[row];
  if (!counts_tell(v) || scratch_.overlay(row)) return false;
  const bool no_ports = use.port_allocs == 0 && use.core_allocs == 0 && !v.group->has_network &&
                        state.nodes.capacity(row).network_invalid == 0;
  if (!no_ports && !ports_do(row, *v.group)) return false;
  const std::vector<model::DeviceTable::Group>& groups = state.nodes.spec(row).devices.groups;
  if (groups.empty() || groups.size() > kGroupsMost) return false;
  std::array<std::uint32_t, kGroupsMost> left;  // of each group, as the requests are served one after the other
  count_free_devices(row, left);
  option_.device_weight = option_.device_matched = 0;
  bool served = true;
  for (const match::DeviceRequest& request : v.devices) {
    const auto choice =
        rank::choose_devices(request, groups, scratch_.patterns,
                             [&](std::size_t g) -> std::optional<bool> { return left[g] >= request.count; });
    if (!choice) return false;
    served = choice->group != rank::DeviceChoice::kNone;
    if (!served) break;
    left[choice->group] -= static_cast<std::uint32_t>(request.count);
    if (request.affinities.empty()) continue;
    option_.device_weight += rank::total_affinity_weight(request);
    option_.device_matched += choice->matched_weight;
  }
  const PlainFit fit = plain(row, *v.group);
  cell.dimension = served ? fit.dimension : kDimensionNoDevices;
  cell.fit = cell.dimension == kReasonNone ? kPass : kFail;
  if (cell.fit == kPass) scorer.score(row, *v.group, fit.use, &option_, cell.score);
  return true;
}

/// How many instances of each group of the node's devices nobody uses.
void NodeFit::count_free_devices(NodeRow row, std::span<std::uint32_t> out) {
  const tables::Snapshot& state = *attempt_.snapshot;
  if (const tables::HeldDevices* const held = state.nodes.held_devices(row)) {
    const std::vector<model::DeviceTable::Group>& groups = state.nodes.spec(row).devices.groups;
    for (std::size_t g = 0; g < groups.size(); ++g) out[g] = held->free_of(groups[g]);
    return;
  }
  proposed.collect_special(row, Proposed::Devices::each);
  proposed.enter_devices(row);
  for (const rank::DeviceAccounter::Group& group : proposed.accounter->groups()) {
    out.front() = static_cast<std::uint32_t>(group.free_count());
    out = out.subspan(1);
  }
}

}  // namespace berth::sched
