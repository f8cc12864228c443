#include "sim/cluster_generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <unordered_map>

#include "base/text.h"
#include "model/job.h"

namespace berth::sim {
namespace {

model::Node node_of(const ShapeSpec& shape, std::size_t variant) {
  model::Node node = ready_node(shape.cores, shape.mhz_per_core, shape.memory_mb, shape.disk_mb, shape.network_mbits);
  node.node_class = shape.node_class;
  node.node_pool = shape.pool;
  node.attributes = {{"kernel.name", "linux"}, {"arch", "amd64"}, {"cpu.arch", "amd64"}, {"nomad.version", "1.10.0"}};
  for (const auto& [key, values] : shape.attributes)
    if (!values.empty()) node.attributes[key] = values[variant % values.size()];
  for (const auto& [key, values] : shape.meta)
    if (!values.empty()) node.meta[key] = values[variant % values.size()];
  for (const std::string& driver : shape.drivers) {
    node.attributes["driver." + driver] = "1";
    node.drivers[driver] = model::DriverInfo{
        .attributes = {}, .detected = true, .healthy = true, .health_description = "", .update_time = {}};
  }
  for (const std::string& volume : shape.host_volumes)
    node.host_volumes[volume] =
        model::HostVolumeInfo{.name = volume, .path = "/srv/" + volume, .read_only = false, .id = ""};
  node.reserved_resources->cpu.cpu_shares = shape.reserved_cpu_mhz;
  node.reserved_resources->memory.memory_mb = shape.reserved_memory_mb;
  node.reserved_resources->disk.disk_mb = shape.reserved_disk_mb;
  node.reserved_resources->networks.reserved_host_ports = shape.reserved_ports;
  for (const DeviceSpec& spec : shape.devices) {
    model::NodeDevice device;
    device.vendor = spec.vendor, device.type = spec.type, device.name = spec.name;
    for (const auto& [key, value] : spec.attributes) {
      model::Attribute attribute;
      if (const auto number = base::parse_int64(value))
        attribute.int_value = *number;
      else
        attribute.string_value = value;
      device.attributes[key] = attribute;
    }
    for (std::int64_t i = 0; i < spec.count; ++i)
      device.instances.push_back(
          {.id = fmt::format("{}-{:04}", spec.name, i), .healthy = true, .health_description = "", .locality = {}});
    node.node_resources->devices.push_back(std::move(device));
  }
  return node;
}

/// Fills nodes with allocations until their share of cpu or memory is reached; draws per node, in order.
void add_load(GeneratedCluster& out, const LoadSpec& spec, std::uint64_t seed) {
  base::Random random(seed, "load");
  struct Ask {
    std::int64_t cpu_mhz, memory_mb, disk_mb;
  };
  std::vector<Ask> asks;
  for (std::int64_t i = 0; i < spec.jobs; ++i) {
    const Ask ask{spec.cpu_mhz.draw(random), spec.memory_mb.draw(random), spec.disk_mb.draw(random)};
    asks.push_back(ask);
    auto job = std::make_shared<model::Job>();
    job->id = job->name = "load-" + std::to_string(i);
    job->namespace_ = "default", job->region = "global", job->type = "service", job->status = "running";
    job->priority = spec.priority.draw(random);
    job->datacenters = {"*"}, job->node_pool = "all";
    model::TaskGroup group;
    group.name = "load";
    group.ephemeral_disk = model::EphemeralDisk{.size_mb = ask.disk_mb};
    model::Task task;
    task.name = "load", task.driver = "exec";
    task.resources.emplace();
    task.resources->cpu = ask.cpu_mhz, task.resources->memory_mb = ask.memory_mb;
    group.tasks.push_back(std::move(task));
    job->task_groups.push_back(std::move(group));
    out.load_jobs.push_back(std::move(job));
  }
  std::vector<std::uint32_t> next_index(asks.size(), 0);
  for (std::size_t row = 0; row < out.nodes.size(); ++row) {
    const model::Node& shape = out.shapes[out.nodes[row].shape];
    const std::int64_t cpu = shape.node_resources->cpu.cpu_shares - shape.reserved_resources->cpu.cpu_shares;
    const std::int64_t memory = shape.node_resources->memory.memory_mb - shape.reserved_resources->memory.memory_mb;
    const std::int64_t disk = shape.node_resources->disk.disk_mb - shape.reserved_resources->disk.disk_mb;
    const std::int64_t percent = spec.percent.draw(random);
    std::int64_t cpu_left = cpu * percent / 100, memory_left = memory * percent / 100, disk_left = disk;
    while (true) {
      const auto pick = static_cast<std::uint32_t>(random.below(asks.size()));
      const Ask& ask = asks[pick];
      if (ask.cpu_mhz > cpu_left || ask.memory_mb > memory_left || ask.disk_mb > disk_left) break;
      cpu_left -= ask.cpu_mhz, memory_left -= ask.memory_mb, disk_left -= ask.disk_mb;
      out.load.push_back({static_cast<std::uint32_t>(row), pick, next_index[pick]++});
    }
  }
  // Each job's count is what already runs, so that an evaluation of it has nothing to do.
  for (std::size_t i = 0; i < asks.size(); ++i) {
    auto job = std::make_shared<model::Job>(*out.load_jobs[i]);
    job->task_groups.front().count = next_index[i];
    out.load_jobs[i] = std::move(job);
  }
}

}  // namespace

model::Node ready_node(std::int64_t cores, std::int64_t mhz_per_core, std::int64_t memory_mb, std::int64_t disk_mb,
                       std::int64_t network_mbits) {
  model::Node node;
  node.node_pool = "default";
  node.status = "ready";
  node.scheduling_eligibility = "eligible";
  model::NodeResources resources;
  resources.cpu.cpu_shares = cores * mhz_per_core;
  resources.cpu.total_cpu_cores = static_cast<std::uint16_t>(cores);
  model::Topology topology;
  topology.nodes = {0};
  topology.distances = {{10}};
  for (std::int64_t core = 0; core < cores; ++core) {
    resources.cpu.reservable_cpu_cores.push_back(static_cast<std::uint16_t>(core));
    topology.cores.push_back({.id = static_cast<std::uint16_t>(core),
                              .grade = true,
                              .base_speed = static_cast<std::uint64_t>(mhz_per_core)});
  }
  resources.processors = model::Processors{.topology = std::move(topology)};
  resources.memory.memory_mb = memory_mb;
  resources.disk.disk_mb = disk_mb;
  model::NetworkResource network;
  network.mode = "host", network.device = "eth0", network.cidr = "192.168.0.100/32", network.ip = "192.168.0.100";
  network.mbits = network_mbits;
  resources.networks.push_back(std::move(network));
  model::NodeNetworkResource address;
  address.mode = "host", address.device = "eth0", address.speed = network_mbits;
  address.addresses.push_back({.family = "ipv4", .alias = "default", .address = "192.168.0.100"});
  resources.node_networks = std::vector{std::move(address)};
  node.node_resources = std::move(resources);
  node.reserved_resources = model::NodeReserved{};
  return node;
}

GeneratedCluster generate_cluster(const ClusterSpec& spec, std::uint64_t seed) {
  GeneratedCluster out;
  out.datacenters = spec.datacenters;
  for (std::int64_t rack = 0; rack < spec.racks; ++rack) out.racks.push_back("r" + std::to_string(rack));
  std::vector<std::int64_t> first_variant, spec_index;
  std::vector<double> weights;
  std::set<std::string_view> pools;
  for (const ShapeSpec& shape : spec.shapes) {
    spec_index.push_back(static_cast<std::int64_t>(spec_index.size()));
    first_variant.push_back(static_cast<std::int64_t>(out.shapes.size()));
    weights.push_back(shape.weight);
    for (std::int64_t variant = 0; variant < shape.variants; ++variant)
      out.shapes.push_back(node_of(shape, static_cast<std::size_t>(variant)));
    if (shape.has_power || shape.has_price) out.rates.resize(out.shapes.size(), shape.rates);
    if (shape.pool != "default" && pools.insert(shape.pool).second) out.pools.push_back({.name = shape.pool});
  }
  const Quantity pick = Quantity::choices(spec_index, weights);
  base::Random random(seed, "nodes");
  // Node IDs differ between seeds; seed 0 gives those of the recorded grid.
  const std::uint64_t salt = seed == 0 ? 0 : base::mix64(seed);
  out.nodes.resize(static_cast<std::size_t>(spec.nodes));
  std::size_t exact_shape = 0;
  std::int64_t of_exact_shape = 0;  // its nodes so far
  for (std::size_t row = 0; row < out.nodes.size(); ++row) {
    while (exact_shape < spec.shapes.size() && of_exact_shape == spec.shapes[exact_shape].nodes)
      ++exact_shape, of_exact_shape = 0;
    const bool is_exact = exact_shape < spec.shapes.size();
    const auto shape = is_exact ? exact_shape : static_cast<std::size_t>(pick.draw(random));
    const std::int64_t variants = spec.shapes[shape].variants;
    const std::int64_t variant = is_exact
                                     ? of_exact_shape++ % variants
                                     : static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(variants)));
    NodeRecord& record = out.nodes[row];
    record.id = base::generated_id(kNodeKind, static_cast<std::uint32_t>(row), salt);
    record.shape = static_cast<std::uint32_t>(first_variant[shape] + variant);
    // A rack belongs to one datacenter.
    if (spec.racks > 0) record.rack = static_cast<std::uint32_t>(row % static_cast<std::size_t>(spec.racks));
    record.datacenter = static_cast<std::uint32_t>((spec.racks > 0 ? record.rack : row) % out.datacenters.size());
  }
  if (spec.load) add_load(out, *spec.load, seed);
  return out;
}

GeneratedCluster grid_cluster(std::uint32_t nodes, std::uint32_t racks) {
  GeneratedCluster out;
  model::Node shape = ready_node(4, 3'500, 32'000, 102'400, 1'000);
  shape.node_class = "linux-medium-pci";
  shape.attributes = {{"kernel.name", "linux"},     {"arch", "x86"},      {"nomad.version", "0.5.0"},
                      {"consul.version", "1.11.4"}, {"driver.exec", "1"}, {"driver.mock_driver", "1"}};
  for (const char* driver : {"exec", "mock_driver"})
    shape.drivers[driver] = model::DriverInfo{
        .attributes = {}, .detected = true, .healthy = true, .health_description = "", .update_time = {}};
  shape.reserved_resources->cpu.cpu_shares = 100;
  shape.reserved_resources->memory.memory_mb = 256;
  shape.reserved_resources->disk.disk_mb = 4'096;
  shape.reserved_resources->networks.reserved_host_ports = "22";
  out.shapes.push_back(std::move(shape));
  out.datacenters = {"dc-1", "dc-2"};
  for (std::uint32_t rack = 0; rack < racks; ++rack) out.racks.push_back("r" + std::to_string(rack));
  out.nodes.resize(nodes);
  for (std::uint32_t i = 0; i < nodes; ++i)
    out.nodes[i] = {.id = base::generated_id(kNodeKind, i), .shape = 0, .datacenter = i % 2, .rack = i % racks};
  return out;
}

}  // namespace berth::sim
