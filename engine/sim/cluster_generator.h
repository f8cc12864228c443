// Clusters: heterogeneous ones from shapes, Nomad's grid, and nodes from a file. For openb see openb.h.
#pragma once

#include "sim/generated_cluster.h"
#include "sim/workload.h"

namespace berth::sim {

/// A mixed cluster of 1 to 10,000,000 nodes. The same specification and seed give the same cluster on every machine.
[[nodiscard]] GeneratedCluster generate_cluster(const ClusterSpec& spec, std::uint64_t seed);

/// The cluster of the cells of Nomad's benchmark with this many nodes and racks (datasets/README.md): node i has the
/// ID generated_id(1, i).
[[nodiscard]] GeneratedCluster grid_cluster(std::uint32_t nodes, std::uint32_t racks);

/// Nodes in API JSON: a list, or an object with a list `Nodes`. `path` may be gzip.
[[nodiscard]] Result<GeneratedCluster> read_cluster_file(const std::string& path);

/// One node group with `count` cores of the given speed, as the API shows a registered, ready node (R-MODEL-71).
[[nodiscard]] model::Node ready_node(std::int64_t cores, std::int64_t mhz_per_core, std::int64_t memory_mb,
                                     std::int64_t disk_mb, std::int64_t network_mbits);

}  // namespace berth::sim
