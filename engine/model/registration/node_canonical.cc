#include "model/registration/node_canonical.h"

#include <algorithm>

#include "model/port_ranges.h"

namespace berth::model {
namespace {

Topology synthesize_topology(const NodeCpu& cpu) {  // R-MODEL-432
  Topology out;
  out.nodes = {0};
  out.distances = {{10}};
  const auto shares = static_cast<std::uint64_t>(cpu.cpu_shares);
  const auto add_core = [&](std::uint16_t id, std::uint64_t speed) {
    Core core;
    core.id = id;
    core.grade = true;
    core.guess_speed = speed;
    out.cores.push_back(core);
  };
  std::uint64_t speed = 0;
  if (cpu.reservable_cpu_cores.empty()) {
    speed = shares / cpu.total_cpu_cores;
    for (std::uint16_t id = 0; id < cpu.total_cpu_cores; ++id) add_core(id, speed);
  } else {
    speed = shares / cpu.reservable_cpu_cores.size();
    for (const std::uint16_t id : cpu.reservable_cpu_cores) add_core(id, speed);
  }
  out.override_total_compute = shares;
  out.override_withhold_compute = speed * cpu.total_cpu_cores - shares;  // wraps below 0
  return out;
}

void mirror_topology(NodeResources& resources) {  // R-MODEL-431
  NodeCpu& cpu = resources.cpu;
  const bool absent = !resources.processors || !resources.processors->topology;
  if (absent) {
    if (cpu.cpu_shares == 0 || cpu.total_cpu_cores == 0) return;
    if (!resources.processors) resources.processors.emplace();
    resources.processors->topology = synthesize_topology(cpu);
    return;
  }
  const Topology& topology = *resources.processors->topology;
  if (topology.cores.empty()) return;
  cpu.cpu_shares = static_cast<std::int64_t>(total_compute_mhz(topology));
  cpu.reservable_cpu_cores = usable_cores(topology);
  cpu.total_cpu_cores = static_cast<std::uint16_t>(cpu.reservable_cpu_cores.size());
}

void build_node_networks(NodeResources& resources) {  // R-MODEL-71 step 4
  auto& out = resources.node_networks.emplace();
  for (const NetworkResource& network : resources.networks) {
    NodeNetworkResource& entry = out.emplace_back();
    entry.mode = network.mode;
    entry.speed = network.mbits;
    entry.device = network.device;
    if (network.ip.empty()) continue;
    NodeNetworkAddress& address = entry.addresses.emplace_back();
    address.alias = "default";
    address.address = network.ip;
  }
  if (!resources.processors) resources.processors.emplace();
  auto& topology = resources.processors->topology;
  if (!topology || topology->cores.empty()) topology.emplace();  // an override goes with it
}

tl::unexpected<InputError> refuse(const std::string& path, const std::string& place, std::string problem,
                                  std::string remedy) {
  return tl::unexpected(InputError{path, place, std::move(problem), std::move(remedy)});
}

bool names_port_65536(const std::string& text) {
  const auto ranges = parse_port_ranges(text);
  return ranges && std::any_of(ranges->begin(), ranges->end(), [](PortRange r) { return r.end >= kPortCount; });
}

}  // namespace

void canonicalize(Node& node) {
  if (node.node_pool.empty()) node.node_pool = "default";
  if (node.drain_strategy)
    node.scheduling_eligibility = "ineligible";
  else if (node.scheduling_eligibility.empty())
    node.scheduling_eligibility = "eligible";
  if (!node.node_resources) return;
  mirror_topology(*node.node_resources);
  if (!node.node_resources->node_networks) build_node_networks(*node.node_resources);
}

std::uint64_t core_speed_mhz(const Core& core) {
  if (core.base_speed > 0) return core.base_speed;
  return core.max_speed > 0 ? core.max_speed : core.guess_speed;
}

std::uint64_t total_compute_mhz(const Topology& topology) {
  if (topology.override_total_compute > 0) return topology.override_total_compute;
  std::uint64_t sum = 0;
  for (const Core& core : topology.cores) sum += core_speed_mhz(core);
  return sum;
}

std::vector<std::uint16_t> usable_cores(const Topology& topology) {
  std::vector<std::uint16_t> out;
  for (const Core& core : topology.cores)
    if (!core.disable) out.push_back(core.id);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

const Topology* topology_of(const Node& node) {
  if (!node.node_resources || !node.node_resources->processors || !node.node_resources->processors->topology)
    return nullptr;
  return &*node.node_resources->processors->topology;
}

FlatResources capacity(const Node& node) {
  FlatResources out;
  if (const Topology* topology = topology_of(node)) {
    out.cpu_mhz = static_cast<std::int64_t>(total_compute_mhz(*topology));
    out.cores = usable_cores(*topology);
  }
  if (node.node_resources) {
    out.memory_mb = node.node_resources->memory.memory_mb;
    out.disk_mb = node.node_resources->disk.disk_mb;
  }
  return out;
}

FlatResources reservation(const Node& node) {
  FlatResources out;
  if (!node.reserved_resources) return out;
  const NodeReserved& reserved = *node.reserved_resources;
  out.cpu_mhz = reserved.cpu.cpu_shares;
  out.memory_mb = reserved.memory.memory_mb;
  out.disk_mb = reserved.disk.disk_mb;
  out.cores = reserved.cpu.reserved_cpu_cores;
  std::sort(out.cores.begin(), out.cores.end());
  out.cores.erase(std::unique(out.cores.begin(), out.cores.end()), out.cores.end());
  return out;
}

FlatResources available(const Node& node) {
  FlatResources out = capacity(node);
  const std::int64_t memory_max_mb = out.memory_max_mb;
  out.subtract(reservation(node));
  out.memory_max_mb = memory_max_mb;
  return out;
}

Result<void> check_node(const Node& node, const std::string& path, const std::string& place) {
  if (!node.node_resources)
    return refuse(path, place + "/NodeResources", "a node must have NodeResources", "export it as GET /v1/node/:id");
  const NodeResources& resources = *node.node_resources;
  if (const Topology* topology = topology_of(node)) {
    for (std::size_t i = 1; i < topology->cores.size(); ++i)
      if (topology->cores[i].id <= topology->cores[i - 1].id)
        return refuse(path, place + "/NodeResources/Processors/Topology/Cores/" + std::to_string(i) + "/ID",
                      "core " + std::to_string(topology->cores[i].id) + " follows core " +
                          std::to_string(topology->cores[i - 1].id),
                      "list the cores in ascending order of their ids");
  }
  for (const auto& [name, bound] : {std::pair{"MinDynamicPort", resources.min_dynamic_port},
                                    std::pair{"MaxDynamicPort", resources.max_dynamic_port}})
    if (bound > 65535)
      return refuse(path, place + "/NodeResources/" + name, std::to_string(bound) + " is no port",
                    "use a value up to 65535");
  const char* const kPort = "reserves port 65536, which does not exist";
  const char* const kPortRemedy = "use values from 1 to 65535";
  if (node.reserved_resources && names_port_65536(node.reserved_resources->networks.reserved_host_ports))
    return refuse(path, place + "/ReservedResources/Networks/ReservedHostPorts", kPort, kPortRemedy);
  if (resources.node_networks)
    for (std::size_t i = 0; i < resources.node_networks->size(); ++i) {
      const auto& addresses = (*resources.node_networks)[i].addresses;
      for (std::size_t j = 0; j < addresses.size(); ++j)
        if (names_port_65536(addresses[j].reserved_ports))
          return refuse(path,
                        place + "/NodeResources/NodeNetworks/" + std::to_string(i) + "/Addresses/" + std::to_string(j) +
                            "/ReservedPorts",
                        kPort, kPortRemedy);
    }
  for (const auto& [name, info] : node.csi_node_plugins)
    if (!info || !info->node_info)
      return refuse(path, place + "/CSINodePlugins/" + name, "the plugin has no NodeInfo",
                    "add NodeInfo or leave the plugin out");
  return {};
}

}  // namespace berth::model
