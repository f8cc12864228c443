#include "sched/node/resources/ports.h"

#include <algorithm>

#include "tables/port_holders.h"

namespace berth::sched {

using tables::NodeRow;

bool enter_group_network(Building& b) {
  if (!b.group().has_network) return true;
  FitParts& parts = b.parts;
  const network::NodePorts& ports = b.spec().ports;
  network::NetworkIndex& index = parts.scratch.work.network_index;
  model::AllocatedShared& shared = b.option.resources->shared;
  shared.networks.resize(1);
  model::NetworkResource& network = shared.networks.front();
  network = b.group().spec->networks.front();
  for (auto* list : {&network.dynamic_ports, &network.reserved_ports})
    for (model::Port& port : *list) {
      if (!port.host_network.starts_with("${")) continue;  // a literal is itself
      const match::Target target = match::parse_target(port.host_network);
      const match::Side side = match::resolve(target, b.spec().node);
      if (!side.found) return false;  // dropped without a metric (R-RANK-612)
      port.host_network = std::string(side.text);
    }
  std::vector<model::AllocatedPort>& offered_ports = parts.offered_ports;
  auto offered = index.assign_ports(network, offered_ports);
  if (!offered && b.evict && parts.victims.for_network(network, ports, *b.option.resources))
    offered = index.assign_ports(network, offered_ports);
  if (!offered) return b.fail(parts.ports.reason_of(offered.error()));
  if (parts.scratch.options.spare_leaving_ports && !network.dynamic_ports.empty()) {
    std::vector<std::uint16_t> leaving;
    list_leaving_ports(parts, b.row, leaving);
    if (!leaving.empty()) index.spare_ports(network, leaving, offered_ports);
  }
  if (auto done = network::fill_group_network(ports, offered_ports, network); !done) {
    parts.attempt.error = done.error().text;
    return false;
  }
  // What is recorded is the ask as written, with host networks resolved and dynamic values filled in.
  if (b.group().has_task_network) index.add_ports(offered_ports);
  shared.ports.swap(offered_ports);
  return true;
}

bool decide_by_ports(FitParts& parts, NodeRow row, const GroupView& v, Cell& cell) {
  if (parts.figures_do(row, *v.group)) {
    parts.decide_by(parts.plain(row, *v.group), row, *v.group, nullptr, cell);
    return true;
  }
  const std::uint32_t held = parts.ports.static_port_held(row, *v.group, parts.needs_of(*v.group));
  if (held == kReasonNone) return false;
  cell.fit = kFail;
  cell.dimension = held;
  return true;
}

bool enter_ports(Building& b) {
  FitParts& parts = b.parts;
  const tables::NodeTable& nodes = parts.attempt.snapshot->nodes;
  const network::NodePorts& ports = b.spec().ports;
  if (!ports.error.empty()) return b.fail(kDimensionInvalidNode);  // R-RANK-604
  const bool asked = b.group().has_network || b.group().has_task_network;
  const bool clear = !b.evict && parts.ports.are_clear(b.row);
  const network::NodePorts& like = asked ? nodes.ports_of_profile(nodes.fixed->port_profile[b.row]) : ports;
  if ((!clear || asked) && parts.proposed.enter_ports(ports, like, clear))  // R-RANK-607
    return b.fail(kDimensionPortCollision);
  return true;
}

void list_leaving_ports(const FitParts& parts, NodeRow row, std::vector<std::uint16_t>& out) {
  const tables::AllocTable& allocs = parts.attempt.snapshot->allocs;
  const auto list = [&](tables::AllocRow alloc) {
    const tables::ResourceShape& shape = allocs.shape_of(alloc);
    if (shape.ports && !tables::client_terminal(allocs.client[alloc])) tables::list_ports(*shape.resources, out);
  };
  const std::vector<plan::PlannedStop>& stops = parts.attempt.plan->stops;
  if (const NodeOverlay* const overlay = parts.scratch.overlay(row))
    for (std::uint32_t i = overlay->first_stop; i != tables::kNoRow; i = stops[i].next_on_node)
      if (!stops[i].dropped) list(stops[i].alloc);
  for (const tables::AllocRow victim : parts.victims.victims) list(victim);
  std::ranges::sort(out);
}

}  // namespace berth::sched
