#include "serve/start.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/random.h"
#include "dryrun/request.h"
#include "io/export_import.h"
#include "model/computed_class.h"
#include "model/registration/node_canonical.h"
#include "run/server_settings.h"
#include "serve/addresses.h"
#include "sim/datasets.h"
#include "sim/inputs.h"
#include "sim/load_store.h"
#include "tables/export.h"

namespace berth::serve {

namespace {

constexpr std::int64_t kCores = 8, kCoreMhz = 2500, kMemoryMb = 16'384, kDiskMb = 102'400;
constexpr std::uint64_t kRackNodes = 20;

model::NodePool built_in_pool(const char* name, const char* description) {  // R-API-460
  model::NodePool pool;
  pool.name = name, pool.description = description;
  pool.create_index = pool.modify_index = 1;
  return pool;
}

/// Of a pool: it comes with its first node, unless it was there before all nodes.
std::uint64_t first_index(const model::ClusterState& state, const std::string& pool) {
  std::uint64_t index = 0;
  for (const model::Node& node : state.nodes)
    if (pool != "default" && node.node_pool == pool && (index == 0 || node.create_index < index))
      index = node.create_index;
  return std::max<std::uint64_t>(index, 1);
}

json::Value registered_event(std::int64_t now_ns) {
  json::Value event = json::Value::object();
  event.set("Message", "Node registered"), event.set("Subsystem", "Cluster"), event.set("Details", nullptr);
  event.set("Timestamp", base::to_rfc3339(base::Time{now_ns / base::kSecond * base::kSecond}));
  event.set("CreateIndex", 0);
  return json::Array{event};
}

void set_attributes(model::Node& node, const std::string& address) {
  const auto set = [&](const char* key, std::string value) { node.attributes[key] = std::move(value); };
  set("nomad.version", "2.0.5"), set("nomad.service_discovery", "true");
  set("kernel.name", "linux"), set("kernel.version", "6.1.0"), set("kernel.arch", "x86_64");
  set("os.name", "debian"), set("os.version", "12.5"), set("os.cgroups.version", "2");
  set("cpu.arch", "amd64"), set("cpu.modelname", "Generic CPU"), set("cpu.numcores", std::to_string(kCores));
  set("cpu.frequency", std::to_string(kCoreMhz)), set("cpu.totalcompute", std::to_string(kCores * kCoreMhz));
  set("cpu.usablecompute", std::to_string(kCores * kCoreMhz)), set("numa.node.count", "1");
  set("memory.totalbytes", std::to_string(kMemoryMb << 20));
  set("plugins.host_volume.mkdir.version", "0.0.1");  // R-STORE-210
  set("unique.hostname", node.name), set("unique.network.ip-address", address);
  set("unique.storage.volume", "/dev/vda");
  set("unique.storage.bytestotal", std::to_string(kDiskMb << 20));
  set("unique.storage.bytesfree", std::to_string(kDiskMb << 20));
  for (const char* driver : {"mock_driver", "docker", "exec", "raw_exec"}) {
    node.attributes[std::string("driver.") + driver] = "1";
    auto& info = node.drivers[driver].emplace();
    info.detected = info.healthy = true;
    info.health_description = "Healthy";
    info.attributes[std::string("driver.") + driver] = "true";
  }
}

void set_resources(model::Node& node, const std::string& address) {
  model::NodeResources& has = node.node_resources.emplace();
  model::Topology& topology = has.processors.emplace().topology.emplace();
  topology.nodes = {0};
  for (std::uint16_t core = 0; core < kCores; ++core) {
    model::Core& one = topology.cores.emplace_back();
    one.id = core, one.grade = true, one.base_speed = kCoreMhz;
    has.cpu.reservable_cpu_cores.push_back(core);
  }
  has.cpu.cpu_shares = kCores * kCoreMhz, has.cpu.total_cpu_cores = kCores;
  has.memory.memory_mb = kMemoryMb, has.disk.disk_mb = kDiskMb;
  has.min_dynamic_port = 20'000, has.max_dynamic_port = 32'000;
  model::NetworkResource& network = has.networks.emplace_back();
  network.mode = "host", network.device = "eth0", network.ip = address, network.cidr = address + "/32";
  network.mbits = 1000;
  model::NodeNetworkResource& card = has.node_networks.emplace().emplace_back();
  card.mode = "host", card.device = "eth0", card.speed = 1000;
  model::NodeNetworkAddress& at = card.addresses.emplace_back();
  at.family = "ipv4", at.alias = "default", at.address = address;
  node.reserved_resources.emplace();
}

/// The cluster of a workload, with what runs on it when the workload begins.
Result<void> take_workload(const std::string& path, Start& out) {
  const auto workload = sim::read_workload(path);
  if (!workload) return tl::unexpected(workload.error());
  const auto inputs = sim::make_inputs(*workload);
  if (!inputs) return tl::unexpected(inputs.error());
  tables::StateStore store;
  sim::load_store(store, inputs->cluster);
  out.state = tables::to_cluster(store.current());
  out.state.scheduler_config = run::configuration_of(*workload);
  out.config.server = run::server_settings(*workload);
  out.config.server.defer_metrics = false;
  return {};
}

Result<void> take_source(const StartOptions& options, Start& out) {
  const bool exists = std::filesystem::exists(options.source);
  if (exists && !options.source.ends_with(".toml")) {
    auto cluster = io::import_cluster(options.source, {.now_ns = options.begin_ns});
    if (!cluster) return tl::unexpected(cluster.error());
    out.state = std::move(cluster->state);
    out.warnings = std::move(cluster->warnings);
    return {};
  }
  if (exists) return take_workload(options.source, out);
  const auto path = sim::find_workload(options.source);
  if (!path)
    return tl::unexpected(InputError{options.source, "", "is neither a file or folder nor the name of a workload",
                                     "name a cluster's export, a CLUSTER.json, or a workload of berth run --list"});
  return take_workload(*path, out);
}

}  // namespace

model::Node made_up_node(std::uint64_t number, std::uint64_t seed) {
  model::Node node;
  node.id = base::to_text(base::generated_id(1, static_cast<std::uint32_t>(number), base::mix64(seed)));
  node.name = fmt::format("node-{}", number + 1);
  const std::uint64_t rack = number / kRackNodes;
  node.datacenter = fmt::format("dc{}", rack % 3 + 1);
  node.node_pool = "default", node.node_class = "general";
  node.meta["rack"] = fmt::format("r{}", rack + 1);
  node.status = "ready", node.scheduling_eligibility = "eligible";
  // Reserved addresses (addresses.h): those of a private network could be machines of whoever runs this.
  const std::string address = fmt::format("240.{}.{}.{}", number >> 16 & 255, number >> 8 & 255, number & 255);
  set_attributes(node, address);
  set_resources(node, address);
  model::canonicalize(node);
  node.computed_class = model::computed_class(node);
  return node;
}

// From an allocation's arrival at its client until a task runs: what a client needs for its folders and hooks.
constexpr std::int64_t kStartDelay = 150'000'000;
constexpr std::int64_t kRestartDelay = 10'000'000;  // where they are there already

Result<Start> prepare(const StartOptions& options) {
  Start out;
  if (!options.source.empty())
    if (auto taken = take_source(options, out); !taken) return tl::unexpected(taken.error());
  model::ClusterState& state = out.state;
  if (!options.source.empty() && state.nodes.empty() && options.nodes == 0)
    return tl::unexpected(InputError{options.source, "", "holds no nodes, so that nothing could be placed",
                                     "name the export of a whole cluster, or make nodes up with --nodes N"});
  replace_addresses(state, options.keep_addresses);
  std::int64_t now_ns = options.begin_ns;
  if (now_ns == 0) now_ns = dryrun::newest_time(state).ns;
  if (now_ns == 0) now_ns = options.now_ns;
  state.index = std::max<std::uint64_t>(state.index, 1);
  for (std::int64_t number = 0; number < options.nodes; ++number) {
    state.nodes.push_back(made_up_node(static_cast<std::uint64_t>(number), options.seed));
    state.nodes.back().create_index = ++state.index;  // it registers, and becomes ready
    state.nodes.back().modify_index = ++state.index;
    state.nodes.back().status_updated_at = now_ns / base::kSecond;
    state.nodes.back().events = registered_event(now_ns);
    for (auto& driver : state.nodes.back().drivers) driver.second->update_time.ns = now_ns;
  }
  const auto has = [](const auto& list, const char* name) {
    return std::any_of(list.begin(), list.end(), [&](const auto& one) { return one.name == name; });
  };
  if (!has(state.node_pools, "all"))
    state.node_pools.push_back(built_in_pool("all", "Node pool with all nodes in the cluster."));
  if (!has(state.node_pools, "default")) state.node_pools.push_back(built_in_pool("default", "Default node pool."));
  for (model::NodePool& pool : state.node_pools) {
    if (pool.create_index == 0) pool.create_index = pool.modify_index = first_index(state, pool.name);
    if (pool.name == "all" && pool.description.empty()) pool.description = "Node pool with all nodes in the cluster.";
    if (pool.name == "default" && pool.description.empty()) pool.description = "Default node pool.";
  }
  if (!state.scheduler_config) {  // R-CTRL-1603
    model::SchedulerConfiguration& configuration = state.scheduler_config.emplace();
    configuration.scheduler_algorithm = "binpack";
    configuration.preemption_config.system_scheduler_enabled = true;
    configuration.create_index = configuration.modify_index = 1;
  }
  out.config.seed = options.seed;
  out.config.start_ns = now_ns;
  out.config.server.keep_details = true;
  out.config.server.sources = options.sources;
  out.config.watchers.heartbeats.grace_ns = options.heartbeat_grace_ns;
  out.config.watchers.heartbeats.min_ttl_ns = options.min_heartbeat_ttl_ns;
  out.config.drivers.emplace();
  out.config.drivers->start_delay_ns = kStartDelay, out.config.drivers->restart_delay_ns = kRestartDelay;
  out.config.drivers->seed = options.seed;
  out.config.journal = out.config.resume = true;
  // Reports of neighbours are a quarter of a tick apart and so never in one batch of a small cluster (R-CTRL-749).
  out.config.clients.own_ticks = true;
  out.config.server.client_batch_ns = out.config.clients.report_tick_ns / 4 - 1'000;
  // No node is taken for lost before its first heartbeat: no recording has that.
  std::int64_t& first_heartbeat = out.config.clients.first_heartbeat_ns;
  first_heartbeat = std::min(first_heartbeat, options.min_heartbeat_ttl_ns);
  // Nomad keeps 15,000 pending evaluations of 10,000 nodes easily; a row costs little.
  out.config.server.broker.evals = 1U << 20;
  out.config.server.broker.jobs = 1U << 20;
  return out;
}

}  // namespace berth::serve
