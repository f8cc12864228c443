#include "tables/irregular.h"

#include <algorithm>

namespace berth::tables {

bool ports_collide(const Snapshot& state, NodeRow node, AllocRow without, network::NetworkIndex& index) {
  const network::NodePorts& ports = state.nodes.spec(node).ports;
  if (ports.host_without_address) return true;
  const AllocTable& allocs = state.allocs;
  std::vector<AllocRow> holders;
  std::uint32_t left = state.nodes.use[node].port_allocs;
  for (AllocRow row = state.nodes.use[node].alloc_head; row != kNoRow && left > 0; row = allocs.next_on_node[row]) {
    if (row == without || !allocs.shape_of(row).ports) continue;
    holders.push_back(row);
    --left;
  }
  // R-RANK-504: where ports are shared, which of two holders comes first decides.
  std::ranges::sort(holders, {}, [&](AllocRow row) { return allocs.id[row]; });
  index.start(ports);
  return std::ranges::any_of(holders, [&](AllocRow row) { return index.add(*allocs.shape_of(row).resources, ""); });
}

bool cores_irregular(const Snapshot& state, NodeRow node, AllocRow without) {
  std::vector<std::uint16_t> held;
  std::uint32_t left = state.nodes.use[node].core_allocs;
  for (AllocRow row = state.nodes.use[node].alloc_head; row != kNoRow && left > 0;
       row = state.allocs.next_on_node[row]) {
    const std::vector<std::uint16_t>& cores = state.allocs.shape_of(row).cores;
    if (row == without || cores.empty()) continue;
    held.insert(held.end(), cores.begin(), cores.end());
    --left;
  }
  std::ranges::sort(held);
  const std::vector<std::uint16_t>& usable = state.nodes.spec(node).cores;
  return std::ranges::adjacent_find(held) != held.end() || (!usable.empty() && !std::ranges::includes(usable, held));
}

}  // namespace berth::tables
