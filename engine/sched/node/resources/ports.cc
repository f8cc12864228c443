#include "sched/node/resources/ports.h"

#include <algorithm>

#include "tables/port_holders.h"

namespace berth::sched {

using tables::NodeRow;

bool decide_by_ports(FitParts& parts, NodeRow row, const GroupView& v, Cell& cell) {
  if (parts.amounts_decide(row, *v.group)) {
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
