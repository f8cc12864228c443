// Facts of a node that do not follow from amounts: whether the ports held there collide, and whether the cores held
// there are usable. NodeUse::irregular has one bit for each; the writer updates it in the commit that starts or ends an
// allocation with ports or cores, or registers the node. These functions are the general way: they read the node's
// allocations. The writer reads HeldPorts and HeldCores instead if these are complete.
#pragma once

#include "network/network_index.h"
#include "tables/state.h"

namespace berth::tables {

/// True if allocations on the node that are not client-terminal hold the same port, or one that the node reserves
/// (R-RANK-607), or a host network of the node has no address (R-RANK-618). `without`: an allocation on the chain that
/// does not count, or kNoRow. Restarts `index`.
[[nodiscard]] bool ports_collide(const Snapshot& state, NodeRow node, AllocRow without, network::NetworkIndex& index);
/// True if these allocations hold a core twice, or one that is not usable on a node with usable cores (R-RANK-524,
/// 535).
[[nodiscard]] bool cores_irregular(const Snapshot& state, NodeRow node, AllocRow without);

}  // namespace berth::tables
