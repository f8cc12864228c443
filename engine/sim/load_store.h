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

/// Healthy device instances of a node.
[[nodiscard]] std::int64_t healthy_instances(const model::Node& node);
/// Device instances held by the allocations of a node. Iterates over them.
[[nodiscard]] std::int64_t held_instances(const tables::Snapshot& snapshot, tables::NodeRow node);

/// The columns of all ready nodes of a snapshot, for measure_packing. Cost: one pass over the nodes, and over the
/// allocations of nodes with devices.
struct PackingTable {
  std::vector<std::int64_t> cpu_usable_mhz, cpu_used_mhz, memory_usable_mb, memory_used_mb, disk_usable_mb,
      disk_used_mb, devices_usable, devices_used;
  std::vector<std::uint32_t> alloc_count;

  explicit PackingTable(const tables::Snapshot& snapshot);
  [[nodiscard]] PackingColumns columns() const;
};

}  // namespace berth::sim
