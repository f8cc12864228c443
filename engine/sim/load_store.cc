#include "sim/load_store.h"

#include <fmt/format.h>

#include <bit>
#include <map>
#include <tuple>

#include "model/computed_class.h"
#include "model/registration/node_canonical.h"

namespace berth::sim {

std::int64_t healthy_devices(const tables::ResourceShape& shape, const model::DeviceTable& node) {
  std::int64_t count = 0;
  if (!shape.devices || !shape.resources) return count;
  for (const auto& [name, task] : shape.resources->tasks)
    for (const model::AllocatedDevice& device : task.devices) node.each(device, [&](std::uint32_t) { ++count; });
  return count;
}

namespace {

/// Healthy device instances held by the allocations of a node.
std::int64_t held_instances(const tables::Snapshot& snapshot, tables::NodeRow node) {
  const tables::NodeUse& use = snapshot.nodes.use[node];
  if (use.device_allocs == 0) return 0;
  std::int64_t count = 0;
  if (const tables::HeldDevices& held = snapshot.nodes.devices[node]; !held.unlisted) {
    for (const std::uint64_t bits : held.word) count += std::popcount(bits);
    return count;
  }
  for (tables::AllocRow alloc = use.alloc_head; alloc != tables::kNoRow; alloc = snapshot.allocs.next_on_node[alloc]) {
    if (tables::client_terminal(snapshot.allocs.client[alloc])) continue;
    count += healthy_devices(snapshot.allocs.shape_of(alloc), snapshot.nodes.spec(node).devices);
  }
  return count;
}

}  // namespace

void load_store(tables::StateStore& store, const GeneratedCluster& cluster) {
  if (cluster.imported) return store.load(*cluster.imported);
  model::ClusterState pools;
  pools.index = 1;
  pools.node_pools = cluster.pools;
  store.load(pools);
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::shared_ptr<const tables::NodeSpec>> specs;
  for (std::size_t i = 0; i < cluster.nodes.size(); ++i) {
    const NodeRecord& record = cluster.nodes[i];
    auto& spec = specs[{record.shape, record.datacenter, record.rack}];
    if (!spec) {
      model::Node node = cluster.node(i);
      node.attributes.erase("unique.advertise.address");  // differs per node, so it is not in the shared spec
      model::canonicalize(node);
      node.computed_class = model::computed_class(node);
      spec = store.make_spec(node, true);
    }
    const std::string name = cluster.node_name(i);
    tables::NodeVariant variant{.id = record.id, .name = name, .datacenter = {}, .attributes = {}, .meta = {}};
    const std::string address = cluster.names.empty() ? fmt::format("192.168.{}.{}", i % 10, i % 120) : std::string();
    if (!address.empty()) variant.attributes.emplace_back("unique.advertise.address", address);
    store.add_variant(spec, variant);
  }
  store.sort_nodes();
  if (cluster.load.empty()) return;
  std::vector<tables::VersionRow> jobs;
  for (const auto& job : cluster.load_jobs) jobs.push_back(store.upsert_job(job, true));
  for (std::size_t i = 0; i < cluster.load.size(); ++i) {
    const LoadRecord& record = cluster.load[i];
    store.insert_plain({.id = base::generated_id(kLoadAllocKind, static_cast<std::uint32_t>(i)),
                        .node = tables::NodeRow(record.node),
                        .job = jobs[record.job],
                        .group = 0,
                        .name_index = record.name_index,
                        .client = tables::Client::running,
                        .shape = nullptr,
                        .cold = nullptr},
                       1);
  }
}

void adopt_configuration(Workload& workload, const GeneratedCluster& cluster) {
  if (!cluster.imported || !cluster.imported->scheduler_config) return;
  const model::SchedulerConfiguration& config = *cluster.imported->scheduler_config;
  if (!workload.algorithm_given && config.scheduler_algorithm == "spread") workload.algorithm = Algorithm::spread;
  if (workload.preemption_given) return;
  workload.preemption = {.system = config.preemption_config.system_scheduler_enabled,
                         .sysbatch = config.preemption_config.sysbatch_scheduler_enabled,
                         .batch = config.preemption_config.batch_scheduler_enabled,
                         .service = config.preemption_config.service_scheduler_enabled};
}

NodePacking packing_of(const tables::Snapshot& snapshot, tables::NodeRow node) {
  const tables::NodeCapacity& capacity = snapshot.nodes.capacity(node);
  const tables::NodeUse& use = snapshot.nodes.use[node];
  const auto devices = static_cast<std::int64_t>(snapshot.nodes.spec(node).devices.ids.size());
  return {.usable = {capacity.cpu_mhz, capacity.memory_mb, capacity.disk_mb, devices},
          .used = {use.cpu_mhz, use.memory_mb, use.disk_mb, devices == 0 ? 0 : held_instances(snapshot, node)},
          .alloc_count = use.alloc_count};
}

Packing measure_packing(const tables::Snapshot& snapshot, const Amounts& reference) {
  PackingSums sums(reference);
  for (tables::NodeRow row = 0; row < snapshot.nodes.size(); ++row)
    if (snapshot.nodes.ready(row)) sums.add(packing_of(snapshot, row));
  return sums.packing();
}

}  // namespace berth::sim
