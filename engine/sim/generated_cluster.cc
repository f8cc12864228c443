#include "sim/generated_cluster.h"

#include <fmt/format.h>

#include "base/assert.h"

namespace berth::sim {
std::string GeneratedCluster::node_name(std::size_t node) const {
  return names.empty() ? name_prefix + std::to_string(node) : names[node];
}

model::Node GeneratedCluster::node(std::size_t node) const {
  const NodeRecord& record = nodes[node];
  model::Node out = shapes[record.shape];
  out.id = base::to_text(record.id);
  out.name = node_name(node);
  if (!datacenters.empty()) out.datacenter = datacenters[record.datacenter];
  if (record.rack != NodeRecord::kNoRack) out.meta["rack"] = racks[record.rack];
  // The address of Nomad's recorded grid, used by every generator: unique.* attributes do not affect the class.
  if (names.empty()) out.attributes["unique.advertise.address"] = fmt::format("192.168.{}.{}", node % 10, node % 120);
  return out;
}

}  // namespace berth::sim
