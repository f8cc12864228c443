#include "sched/node/node_fit.h"

#include <algorithm>

#include "base/text.h"
#include "base/wrap_sums.h"
#include "rank/components.h"
#include "tables/port_holders.h"

namespace berth::sched {

using tables::CompiledGroup;
using tables::kNoRow;
using tables::NodeRow;

void NodeFit::start() {
  no_port_conflicts_ = false;
  statics_.of = nullptr;
  scorer.start();
  victims.start();
}

bool NodeFit::is_special(NodeRow row, const CompiledGroup& group) const {
  if (asks_more(group)) return true;
  const tables::NodeTable& nodes = attempt_.snapshot->nodes;
  return holds_more(nodes.use[row], nodes.capacity(row), scratch_.overlay(row));
}

bool NodeFit::figures_do(NodeRow row, const CompiledGroup& group) {
  if (!is_special(row, group)) return true;
  return attempt_.by_amounts() && figures_may_do(group) && ports_do(row, group);
}

/// Whether what is special about the node are ports and cores at most, which do not collide, and the ports asked for
/// are free for certain.
bool NodeFit::ports_do(NodeRow row, const CompiledGroup& group) {
  const tables::NodeTable& nodes = attempt_.snapshot->nodes;
  const tables::NodeUse& use = nodes.use[row];
  if (nodes.capacity(row).network_invalid != 0 || (use.irregular & tables::kCoresIrregular) != 0) return false;
  const NodeOverlay* overlay = scratch_.overlay(row);
  if (overlay && (overlay->complex_allocs != 0 || overlay->first_update != kNoRow)) return false;
  if (use.port_allocs == 0 && !group.has_network) return true;
  return (use.irregular & tables::kPortsCollide) == 0 && (!group.has_network || has_ports(row, group));
}

/// Whether the dynamic ports that the group asks for are all on one host network.
bool NodeFit::one_network(const CompiledGroup& group) const {
  const std::vector<model::Port>& asked = group.spec->networks.front().dynamic_ports;
  return std::all_of(asked.begin(), asked.end(),
                     [&](const model::Port& port) { return port.host_network == asked.front().host_network; });
}

void NodeFit::read_static_ports(const CompiledGroup& group) {
  statics_.of = &group;
  statics_.numbers.clear();
  statics_.asked.clear();
  for (const model::Port& port : group.spec->networks.front().reserved_ports) {
    statics_.numbers.push_back(static_cast<std::uint16_t>(port.value));
    statics_.asked += std::to_string(port.value) + ' ';
    base::append_sized(statics_.asked, port.host_network);
  }
}

/// kPass if the first address of each requested host network of the node reserves none of the static ports.
std::uint8_t NodeFit::static_room(NodeRow row, const CompiledGroup& group) {
  const tables::NodeTable& nodes = attempt_.snapshot->nodes;
  const std::uint32_t profile = nodes.fixed->port_profile[row];
  std::uint8_t& known = scratch_.port_profiles.reserved_of(nodes, static_ports(group).asked, profile);
  if (known != kUnknown) return known;
  const network::NodePorts& ports = nodes.ports_of_profile(profile);
  const auto& asked = group.spec->networks.front().reserved_ports;
  const bool free = std::all_of(asked.begin(), asked.end(), [&](const model::Port& port) {
    const network::NodePorts::Alias* const alias = ports.alias(port.host_network);
    return alias && !alias->addresses.empty() &&
           !ports.reserves(alias->addresses.front(), static_cast<std::uint32_t>(port.value));
  });
  return known = free ? kPass : kFail;
}

/// Whether the ports that the group asks for by number are free for certain: not reserved on the first address of their
/// host network, and held by nobody there on any address.
bool NodeFit::has_static_ports(NodeRow row, const CompiledGroup& group) {
  const tables::Snapshot& state = *attempt_.snapshot;
  if (static_room(row, group) != kPass) return false;
  const auto& numbers = static_ports(group).numbers;
  if (const tables::HeldPorts* const held = state.nodes.held_ports(row))
    return std::ranges::none_of(numbers, [&](std::uint16_t number) { return held->holds(number); });
  bool free = true;
  tables::each_port_holder(state, row, [&](tables::AllocRow, const tables::ResourceShape& shape) {
    for (const std::uint16_t number : numbers) free = free && !tables::holds_port(*shape.resources, number);
  });
  return free;
}

/// Why the group does not fit on the node, where that is for certain that somebody there holds a port that it asks for
/// by number, on the only address of its host network (R-RANK-613); else kReasonNone.
std::uint32_t NodeFit::static_port_held(NodeRow row, const CompiledGroup& group) {
  const tables::NodeTable& nodes = attempt_.snapshot->nodes;
  if (!attempt_.by_amounts() || !group.needs.has(Need::static_ports) || !tables::serves(kHeldPorts, group.needs) ||
      scratch_.overlay(row) || nodes.capacity(row).network_invalid != 0 ||
      (nodes.use[row].irregular & tables::kPortsCollide) != 0 || static_room(row, group) != kPass)
    return kReasonNone;
  const tables::HeldPorts* const held = nodes.held_ports(row);
  if (!held) return kReasonNone;
  const network::NodePorts& ports = nodes.spec(row).ports;
  for (const model::Port& port : group.spec->networks.front().reserved_ports) {
    const std::vector<std::uint32_t>& addresses = ports.alias(port.host_network)->addresses;
    if (addresses.size() != 1 || ports.addresses[addresses.front()].ip != held->address()) return kReasonNone;
    if (!held->holds(port.value)) continue;
    return reason_of({network::PortFailure::Kind::reserved_port_collision, port.label, port.value});
  }
  return kReasonNone;
}

/// Whether the ports of the group's network are free whatever those there hold of others (R-RANK-613 to 616).
bool NodeFit::has_ports(NodeRow row, const CompiledGroup& group) {
  const tables::Snapshot& state = *attempt_.snapshot;
  if (!group.dynamic_ports_only && !has_static_ports(row, group)) return false;
  const model::NetworkResource& network = group.spec->networks.front();
  const std::vector<model::Port>& asked = network.dynamic_ports;
  if (asked.empty()) return true;
  if (!one_network(group)) return false;
  return scratch_.port_profiles.free_on(state.nodes, asked.front().host_network, state.nodes.fixed->port_profile[row]) >
         std::uint64_t{state.nodes.use[row].port_allocs} * state.allocs.port_count_max + asked.size() +
             network.reserved_ports.size();
}

NodeFit::PortFigures NodeFit::port_figures(const CompiledGroup& group) {
  PortFigures out;
  if (!attempt_.by_amounts() || !(figures_may_do(group) || cores_tell(group))) return out;
  out.nodes = &attempt_.snapshot->nodes;
  out.ports_most = attempt_.snapshot->allocs.port_count_max;
  if (group.has_network) {
    const model::NetworkResource& network = group.spec->networks.front();
    PortProfiles& profiles = scratch_.port_profiles;
    if (!network.dynamic_ports.empty()) {
      if (!one_network(group)) return out;
      out.free = &profiles.free_on(*out.nodes, network.dynamic_ports.front().host_network);
      out.asked = network.dynamic_ports.size() + network.reserved_ports.size();
    }
    if (!group.dynamic_ports_only) {
      out.statics = &profiles.reserved_of(*out.nodes, static_ports(group).asked);
      out.numbers = static_ports(group).numbers;
    }
    if (out.free || out.statics) out.profile = &out.nodes->fixed->port_profile;
  }
  out.known = true;
  return out;
}

PlainFit NodeFit::plain(NodeRow row, const CompiledGroup& group) const {
  const NodeOverlay* overlay = scratch_.overlay(row);
  return plain_fit(attempt_.snapshot->nodes.capacity(row), attempt_.snapshot->nodes.use[row],
                   overlay ? *overlay : kUntouched, group);
}

/// decide() of the usual node for the usual group: figures are all there is to it. False: they are not.
inline bool NodeFit::decide_by_figures(NodeRow row, const CompiledGroup& group, Cell& cell) {
  if (asks_more(group)) return false;
  const tables::NodeUse& use = attempt_.snapshot->nodes.use[row];
  const tables::NodeCapacity& capacity = attempt_.snapshot->nodes.capacity(row);
  const NodeOverlay* const overlay = scratch_.overlay(row);
  if (holds_more(use, capacity, overlay)) return false;
  const PlainFit fit = plain_fit(capacity, use, overlay ? *overlay : kUntouched, group);
  cell.fit = fit.dimension == kReasonNone ? kPass : kFail;
  cell.dimension = fit.dimension;
  if (cell.fit == kPass) scorer.score(row, capacity, overlay, group, fit.use, nullptr, cell.score);
  return true;
}

void NodeFit::decide(NodeRow row, const GroupView& v, Cell& cell) {
  if (decide_by_figures(row, *v.group, cell)) return;
  if (v.group->has_devices && decide_by_free_devices(row, v, cell)) return;
  std::optional<PlainFit> by_cores;
  if (cores_tell(*v.group)) by_cores = fit_by_cores(row, *v.group);
  if (!by_cores && !figures_do(row, *v.group)) {
    const std::uint32_t held = static_port_held(row, *v.group);
    if (held == kReasonNone) return decide_special(row, v, false, cell);
    cell.fit = kFail;
    cell.dimension = held;
    return;
  }
  const PlainFit fit = by_cores ? *by_cores : plain(row, *v.group);
  cell.fit = fit.dimension == kReasonNone ? kPass : kFail;
  cell.dimension = fit.dimension;
  if (cell.fit == kPass) scorer.score(row, *v.group, fit.use, nullptr, cell.score);
}

void NodeFit::decide_special(NodeRow row, const GroupView& v, bool evict, Cell& cell) {
  ++scratch_.source_counts.options;
  if (!build_option(row, v, evict, false, option_)) {
    cell.fit = kFail;
    cell.dimension = option_.dimension;
    return;
  }
  cell.fit = kPass;
  scorer.score(row, *v.group, option_.use, &option_, cell.score);
}

void NodeFit::decide_evicting(NodeRow row, const GroupView& v, Cell& cell) {
  BERTH_ASSERT(cell.fit == kFail);
  if (is_special(row, *v.group))
    decide_special(row, v, true, cell);
  else
    evict_plain(row, v, cell);
}

/// For a group without ports, devices and cores on a node where nobody holds any.
void NodeFit::evict_plain(NodeRow row, const GroupView& v, Cell& cell) {
  const tables::NodeCapacity& capacity = attempt_.snapshot->nodes.capacity(row);
  proposed.collect(row);
  victims.victims.clear();
  model::FlatResources room, ask;
  room.cpu_mhz = capacity.cpu_mhz, room.memory_mb = capacity.memory_mb, room.disk_mb = capacity.disk_mb;
  ask.cpu_mhz = v.group->cpu_mhz, ask.memory_mb = v.group->memory_mb, ask.disk_mb = v.group->disk_mb;
  if (!victims.for_resources(row, ask, room)) return;
  // R-RANK-647: the use that did not fit, victims included; after too many allocations it was never summed.
  FitUse use;
  if (!attempt_.quirks.fit_counts_victims) {
    use = {ask.cpu_mhz, ask.memory_mb, ask.disk_mb};
    victims.sum_staying(use);
  } else if (cell.dimension != kDimensionMaxAllocs) {
    use = {ask.cpu_mhz, ask.memory_mb, ask.disk_mb};
    for (const tables::ResourceShape* shape : proposed.shapes) {
      base::wrap_add_to(use.cpu_mhz, shape->cpu_mhz);
      base::wrap_add_to(use.memory_mb, shape->memory_mb);
      base::wrap_add_to(use.disk_mb, shape->disk_mb);
    }
  }
  cell.fit = kPass;
  option_.ask_cpu_mhz = ask.cpu_mhz;
  option_.device_weight = 0;
  scorer.score(row, *v.group, use, &option_, cell.score);
}

Selected NodeFit::select(const Found& best, const GroupView& v) {
  BERTH_ASSERT(best.node != kNoRow);
  const CompiledGroup& group = *v.group;
  Selected out{best};
  // Who asks for nothing but figures gets these, whatever the node's others hold.
  if (asks_more(group) || (!best.victims.empty() && is_special(best.node, group))) {
    const bool evicts = !best.victims.empty();
    [[maybe_unused]] const bool built = build_option(best.node, v, evicts, !evicts, option_);
    BERTH_ASSERT(built);
    out.shape = scratch_.shapes.share(kind_of(group));
  } else if (attempt_.config.memory_oversubscription) {
    out.shape = group.shape_oversubscribed;
  }
  out.held = out.shape ? out.shape.get() : group.shape.get();
  return out;
}

bool NodeFit::ports_are_silent(const GroupView& v) {
  const tables::NodeTable& nodes = attempt_.snapshot->nodes;
  if (nodes.port_or_core_allocs == 0 && !v.group->has_network && !v.group->has_task_network) return true;
  for (const NodeOverlay& overlay : scratch_.overlays) {
    if (overlay.first_update != kNoRow) return false;  // may have changed what it holds
    if (overlay.complex_allocs == 0) continue;         // who leaves makes nobody collide
    proposed.collect_special(overlay.row, Proposed::Devices::none);
    if (proposed.enter_ports(nodes.spec(overlay.row).ports)) return false;
  }
  return no_port_conflicts_ = nodes.nodes_with_port_conflict == 0;
}

}  // namespace berth::sched
