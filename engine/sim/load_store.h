// Loads a generated cluster into the tables.
#pragma once

#include "sim/generated_cluster.h"
#include "sim/packing.h"
#include "sim/workload.h"
#include "tables/state.h"

namespace berth::sim {

/// Adds all nodes, pools and allocations of the load; node i gets row i. Nodes of one shape, datacenter and rack share
/// one spec, so a million of them take their columns and no API object each. The store must be empty.
void load_store(tables::StateStore& store, const GeneratedCluster& cluster);

/// Takes over the algorithm and preemption of an imported cluster where the workload does not give its own.
void adopt_configuration(Workload& workload, const GeneratedCluster& cluster);

/// Healthy device instances that an allocation with this shape holds on a node.
[[nodiscard]] std::int64_t healthy_devices(const tables::ResourceShape& shape, const model::DeviceTable& node);

/// A node's amounts. Only healthy device instances count.
[[nodiscard]] NodePacking packing_of(const tables::Snapshot& snapshot, tables::NodeRow node);
/// How well the ready nodes are packed. Cost: one pass over the nodes.
[[nodiscard]] Packing measure_packing(const tables::Snapshot& snapshot, const Amounts& reference);

}  // namespace berth::sim
