#include "sched/node/port_fit.h"

#include <algorithm>

#include "base/text.h"
#include "model/job.h"
#include "tables/port_holders.h"

namespace berth::sched {

using tables::CompiledGroup;
using tables::kNoRow;
using tables::NodeRow;

namespace {

/// True if all dynamic ports that the group requests are on one host network.
bool on_one_network(const CompiledGroup& group) {
  const std::vector<model::Port>& asked = group.spec->networks.front().dynamic_ports;
  return std::all_of(asked.begin(), asked.end(),
                     [&](const model::Port& port) { return port.host_network == asked.front().host_network; });
}

}  // namespace

bool PortFit::free_for_certain(NodeRow row, const CompiledGroup& group) {
  const tables::NodeTable& nodes = attempt_.snapshot->nodes;
  const tables::NodeUse& use = nodes.use[row];
  if (nodes.capacity(row).network_invalid != 0 || (use.irregular & tables::kCoresIrregular) != 0) return false;
  const NodeOverlay* overlay = scratch_.overlay(row);
  if (overlay && (overlay->complex_allocs != 0 || overlay->first_update != kNoRow)) return false;
  if (use.port_allocs == 0 && !group.has_network) return true;
  return (use.irregular & tables::kPortsCollide) == 0 && (!group.has_network || has_ports(row, group));
}

void PortFit::read_static_ports(const CompiledGroup& group) {
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
std::uint8_t PortFit::static_room(NodeRow row, const CompiledGroup& group) {
  const tables::NodeTable& nodes = attempt_.snapshot->nodes;
  const std::uint32_t profile = nodes.fixed->port_profile[row];
  std::uint8_t& known = scratch_.by_content.port_profiles.reserved_of(nodes, static_ports(group).asked, profile);
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

/// True if the static ports that the group requests are certainly free: not reserved on the first address of their host
/// network, and not held by an allocation of the node on any address.
bool PortFit::has_static_ports(NodeRow row, const CompiledGroup& group) {
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

std::uint32_t PortFit::static_port_held(NodeRow row, const CompiledGroup& group, Needs needs) {
  const tables::NodeTable& nodes = attempt_.snapshot->nodes;
  if (!attempt_.by_amounts() || !needs.has(Need::static_ports) || !tables::serves(kHeldPorts, needs) ||
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

/// True if the ports of the group's network are free, whatever other ports the node's allocations hold (R-RANK-613 to
/// 616).
bool PortFit::has_ports(NodeRow row, const CompiledGroup& group) {
  const tables::Snapshot& state = *attempt_.snapshot;
  if (!group.dynamic_ports_only && !has_static_ports(row, group)) return false;
  const model::NetworkResource& network = group.spec->networks.front();
  const std::vector<model::Port>& asked = network.dynamic_ports;
  if (asked.empty()) return true;
  if (!on_one_network(group)) return false;
  return scratch_.by_content.port_profiles.free_on(state.nodes, asked.front().host_network,
                                                   state.nodes.fixed->port_profile[row]) >
         std::uint64_t{state.nodes.use[row].port_allocs} * state.allocs.port_count_max + asked.size() +
             network.reserved_ports.size();
}

PortFit::ByProfile PortFit::by_profile(const CompiledGroup& group) {
  ByProfile out;
  out.nodes = &attempt_.snapshot->nodes;
  out.ports_most = attempt_.snapshot->allocs.port_count_max;
  if (group.has_network) {
    const model::NetworkResource& network = group.spec->networks.front();
    PortProfiles& profiles = scratch_.by_content.port_profiles;
    if (!network.dynamic_ports.empty()) {
      if (!on_one_network(group)) return out;
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

bool PortFit::are_silent(const GroupView& v) {
  const tables::NodeTable& nodes = attempt_.snapshot->nodes;
  if (nodes.port_or_core_allocs == 0 && !v.group->has_network && !v.group->has_task_network) return true;
  for (const NodeOverlay& overlay : scratch_.by_attempt.overlays) {
    if (overlay.first_update != kNoRow) return false;  // an update may change the ports that are held
    if (overlay.complex_allocs == 0) continue;         // stops cause no port collision
    proposed_.collect_special(overlay.row, Proposed::Devices::none);
    if (proposed_.enter_ports(nodes.spec(overlay.row).ports)) return false;
  }
  return no_conflicts_ = nodes.nodes_with_port_conflict == 0;
}

bool PortFit::are_clear(NodeRow row) const {
  const NodeOverlay* const overlay = scratch_.overlay(row);
  if (overlay && (overlay->complex_allocs != 0 || overlay->first_update != kNoRow)) return false;
  const tables::NodeUse& use = attempt_.snapshot->nodes.use[row];
  return use.port_allocs == 0 || (attempt_.by_amounts() && (use.irregular & tables::kPortsCollide) == 0);
}

std::uint32_t PortFit::reason_of(const network::PortFailure& failure) {
  for (const KnownFailure& known : failures_)
    if (known.kind == failure.kind && known.port == failure.port && known.name == failure.name) return known.reason;
  const std::uint32_t reason = scratch_.reasons.id("network: " + failure.text());
  if (failures_.size() == kFailuresMost) failures_.clear();
  failures_.push_back({failure.kind, failure.port, std::string(failure.name), reason});
  return reason;
}

}  // namespace berth::sched
