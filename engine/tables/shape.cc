#include "model/flatten.h"
#include "model/port_ranges.h"
#include "tables/state.h"

namespace berth::tables {

std::shared_ptr<const ResourceShape> make_shape(const std::shared_ptr<const model::AllocatedResources>& resources) {
  auto out = std::make_shared<ResourceShape>();
  const model::FlatResources flat = model::flatten(*resources);
  out->cpu_mhz = flat.cpu_mhz;
  out->memory_mb = flat.memory_mb;
  out->disk_mb = flat.disk_mb;
  out->cores = flat.cores;
  out->ports = !resources->shared.ports.empty() || !resources->shared.networks.empty();
  const auto count = [&](const model::NetworkResource& network) {
    out->port_count += static_cast<std::uint32_t>(network.reserved_ports.size() + network.dynamic_ports.size());
  };
  out->port_count = static_cast<std::uint32_t>(resources->shared.ports.size());
  for (const model::NetworkResource& network : resources->shared.networks) count(network);
  for (const auto& [name, task] : resources->tasks) {
    for (const model::NetworkResource& network : task.networks) count(network);
    out->ports = out->ports || !task.networks.empty();
    out->devices = out->devices || !task.devices.empty();
  }
  for (const model::AllocatedPort& port : resources->shared.ports)
    out->shares_ports = out->shares_ports || port.ignore_collision;
  out->resources = resources;
  return out;
}

bool network_invalid(const model::Node& node) {
  if (node.reserved_resources && !model::parse_port_ranges(node.reserved_resources->networks.reserved_host_ports))
    return true;
  if (!node.node_resources || !node.node_resources->node_networks) return false;
  for (const model::NodeNetworkResource& network : *node.node_resources->node_networks)
    for (const model::NodeNetworkAddress& address : network.addresses)
      if (!address.reserved_ports.empty() && !model::parse_port_ranges(address.reserved_ports)) return true;
  return false;
}

}  // namespace berth::tables
