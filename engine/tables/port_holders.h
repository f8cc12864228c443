// Who holds ports on a node.
#pragma once

#include "tables/state.h"

namespace berth::tables {

/// Calls `visit(row, shape)` for the allocations on the node that are not client-terminal and hold networks or ports;
/// ends with the last of them.
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

}  // namespace berth::tables
