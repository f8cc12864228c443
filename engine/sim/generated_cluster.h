// A generated cluster, from which the tables are loaded: a few shapes with all strings, and one small record per node,
// so that a million nodes take 32 MB and no string per node.
//
//   shapes       one model::Node per shape: everything that its nodes share. ID, Name, Datacenter, Meta["rack"] and the
//                attribute `unique.advertise.address` are not set: they follow from the record
//   nodes        per node: ID, shape, datacenter, rack (32 bytes)
//   rates        per shape: power and price, if the workload gives them
//   load_jobs    jobs of the allocations that exist before the run starts; one group, one task
//   load         per such allocation: node, job, name index (12 bytes)
//
// The row of a node is its position in `nodes`; all indexes are positions in the lists here. Written once by a
// generator, then read only.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/uuid.h"
#include "berth/power.h"
#include "model/cluster.h"

namespace berth::sim {

// Kinds of generated_id.
inline constexpr std::uint32_t kNodeKind = 1, kEvalKind = 2, kLoadAllocKind = 3;

struct NodeRecord {
  base::Uuid id;
  std::uint32_t shape = 0;
  std::uint32_t datacenter = 0;
  std::uint32_t rack = kNoRack;
  std::uint32_t reserved = 0;  ///< always 0; pads the record to 32 bytes

  static constexpr std::uint32_t kNoRack = 0xffffffff;  ///< the node has no Meta["rack"]
};
static_assert(sizeof(NodeRecord) == 32);

struct LoadRecord {
  std::uint32_t node = 0;
  std::uint32_t job = 0;
  std::uint32_t name_index = 0;  ///< the allocation's name is "<job>.<group>[name_index]"
};

/// End of an allocation that ran when the cluster was imported.
struct RunningEnd {
  base::Uuid alloc;
  std::int64_t due_ns = 0;  ///< from the start of the run
  bool fails = false;
};

struct GeneratedCluster {
  std::vector<model::Node> shapes;
  std::vector<strategy::NodeRates> rates;  ///< one per shape; fewer: the cluster has none
  std::vector<std::string> datacenters, racks;
  std::string name_prefix = "node-";  ///< node i is named "<prefix>i"
  std::vector<NodeRecord> nodes;
  std::vector<std::shared_ptr<const model::Job>> load_jobs;
  std::vector<LoadRecord> load;
  std::vector<model::NodePool> pools;  ///< besides the built-in `default` and `all`
  /// Node names from a file. If set, there is one per node, and `name_prefix` is not used.
  std::vector<std::string> names;
  /// Of an imported cluster: the whole state, which the tables are loaded from. `nodes` are its nodes in its order;
  /// `load` are its running allocations as strategies see them, one job per job version and group.
  std::shared_ptr<const model::ClusterState> imported;
  std::vector<RunningEnd> ends;  ///< of an imported cluster, by due time

  [[nodiscard]] std::string node_name(std::size_t node) const;
  /// The whole node: its shape with ID, name, datacenter, rack and address filled in.
  [[nodiscard]] model::Node node(std::size_t node) const;
};

}  // namespace berth::sim
