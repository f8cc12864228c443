#include "model/flatten.h"
#include "tables/shape_pool.h"
#include "tables/state.h"

namespace berth::tables {
namespace {

/// Sets ResourceShape::plain_ports if they apply. Ports of the group hide all other networks (R-MODEL-480).
void note_plain_ports(ResourceShape& shape, const std::vector<model::AllocatedPort>& ports) {
  if (ports.empty() || ports.size() > shape.plain_ports.size() || ports.front().host_ip.size() > 15) return;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const model::AllocatedPort& port = ports[i];
    if (port.ignore_collision || port.value < 0 || port.value > 65'535 || port.host_ip != ports.front().host_ip) return;
    shape.plain_ports[i] = static_cast<std::uint16_t>(port.value);
  }
  shape.plain_count = static_cast<std::uint8_t>(ports.size());
}

}  // namespace

void fill_shape(const model::AllocatedResources& resources, ResourceShape& out) {
  model::FlatResources flat;
  flat.cores.swap(out.cores);
  model::flatten(resources, flat);
  out.cpu_mhz = flat.cpu_mhz;
  out.memory_mb = flat.memory_mb;
  out.disk_mb = flat.disk_mb;
  out.cores.swap(flat.cores);
  out.ports = !resources.shared.ports.empty() || !resources.shared.networks.empty();
  const auto count = [&](const model::NetworkResource& network) {
    out.port_count += static_cast<std::uint32_t>(network.reserved_ports.size() + network.dynamic_ports.size());
  };
  out.port_count = static_cast<std::uint32_t>(resources.shared.ports.size());
  out.devices = out.shares_ports = false;
  out.plain_count = 0;
  for (const model::NetworkResource& network : resources.shared.networks) count(network);
  for (const auto& [name, task] : resources.tasks) {
    for (const model::NetworkResource& network : task.networks) count(network);
    out.ports = out.ports || !task.networks.empty();
    out.devices = out.devices || !task.devices.empty();
  }
  for (const model::AllocatedPort& port : resources.shared.ports)
    out.shares_ports = out.shares_ports || port.ignore_collision;
  note_plain_ports(out, resources.shared.ports);
}

std::shared_ptr<const ResourceShape> make_shape(const std::shared_ptr<const model::AllocatedResources>& resources) {
  auto out = std::make_shared<ResourceShape>();
  fill_shape(*resources, *out);
  out->resources = resources;
  return out;
}

}  // namespace berth::tables
