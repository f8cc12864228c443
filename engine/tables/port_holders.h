// Iterates over the holders of ports on a node.
#pragma once

#include <algorithm>
#include <vector>

#include "tables/state.h"

namespace berth::tables {

/// Calls `visit(row, shape)` for the allocations on the node that are not client-terminal and hold networks or ports;
/// stops after the last of them.
template <class Visit>
void each_port_holder(const Snapshot& state, NodeRow node, Visit visit) {
  std::uint32_t left = state.nodes.use[node].port_allocs;
  for (AllocRow row = state.nodes.use[node].alloc_head; row != kNoRow && left > 0;
       row = state.allocs.next_on_node[row]) {
    const ResourceShape& shape = state.allocs.shape_of(row);
    if (!shape.ports) continue;
    visit(row, shape);
    --left;
  }
}

/// Appends the ports that an allocation with these resources holds, counted as in holds_port().
inline void list_ports(const model::AllocatedResources& held, std::vector<std::uint16_t>& out) {
  const auto put = [&](std::int64_t value) {
    if (value >= 0 && value <= 65'535) out.push_back(static_cast<std::uint16_t>(value));
  };
  for (const model::AllocatedPort& port : held.shared.ports) put(port.value);
  if (!held.shared.ports.empty()) return;
  const auto list = [&](const model::NetworkResource& network) {
    for (const auto* ports : {&network.reserved_ports, &network.dynamic_ports})
      for (const model::Port& port : *ports) put(port.value);
  };
  for (const model::NetworkResource& network : held.shared.networks) list(network);
  for (const auto& [name, task] : held.tasks)
    if (!task.networks.empty()) list(task.networks.front());
}

/// True if an allocation with these resources holds the port on some address, as the network index counts it
/// (R-MODEL-480): a group's ports hide all other network use; of a task only its first network counts.
[[nodiscard]] inline bool holds_port(const model::AllocatedResources& held, std::int64_t value) {
  if (!held.shared.ports.empty())
    return std::any_of(held.shared.ports.begin(), held.shared.ports.end(),
                       [&](const model::AllocatedPort& port) { return port.value == value; });
  const auto in = [&](const model::NetworkResource& network) {
    const auto is_it = [&](const model::Port& port) { return port.value == value; };
    return std::any_of(network.reserved_ports.begin(), network.reserved_ports.end(), is_it) ||
           std::any_of(network.dynamic_ports.begin(), network.dynamic_ports.end(), is_it);
  };
  return std::any_of(held.shared.networks.begin(), held.shared.networks.end(), in) ||
         std::any_of(held.tasks.begin(), held.tasks.end(), [&](const auto& task) {
           return !task.second.networks.empty() && in(task.second.networks.front());
         });
}

}  // namespace berth::tables
