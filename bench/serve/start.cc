#include "serve/start.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/random.h"
#include "dryrun/request.h"
#include "model/computed_class.h"
#include "model/job.h"
#include "model/registration/node_canonical.h"
#include "run/life_order.h"
#include "run/life_player.h"
#include "run/server_settings.h"
#include "serve/workload_script.h"
#include "sim/datasets.h"
#include "sim/inputs.h"
#include "sim/load_store.h"
#include "sim/named_strategy.h"
#include "tables/export.h"

namespace berth::serve {

namespace {

constexpr std::int64_t kCores = 8, kCoreMhz = 2500, kMemoryMb = 16'384, kDiskMb = 102'400;
constexpr std::uint64_t kRackNodes = 20;

json::Value registered_event(std::int64_t now_ns) {
  json::Value event = json::Value::object();
  event.set("Message", "Node registered"), event.set("Subsystem", "Cluster"), event.set("Details", nullptr);
  event.set("Timestamp", base::to_rfc3339(base::Time{now_ns / base::kSecond * base::kSecond}));
  event.set("CreateIndex", 0);
  return json::Array{event};
}

/// Adds attributes of software and configuration that every client reports, if the node lacks them, because jobs have
/// constraints on them. All nodes get the same, as the keys are part of the class (R-MODEL-540).
void add_client_facts(model::Node& node) {
  static constexpr std::pair<const char*, const char*> kAttributes[] = {
      {"consul.connect", "true"},
      {"consul.datacenter", "dc1"},
      {"consul.ft.namespaces", "false"},
      {"consul.grpc", "8502"},
      {"consul.server", "false"},
      {"consul.sku", "oss"},
      {"consul.version", "1.19.2"},
      {"cpu.arch", "amd64"},
      {"driver.docker.bridge_ip", "172.17.0.1"},
      {"driver.docker.os_type", "linux"},
      {"driver.docker.runtimes", "io.containerd.runc.v2,runc"},
      {"driver.docker.version", "26.1.4"},
      {"driver.docker.volumes.enabled", "true"},
      {"driver.java.version", "17.0.11"},
      {"driver.qemu.version", "7.2.11"},
      {"kernel.arch", "x86_64"},
      {"kernel.landlock", "v2"},
      {"kernel.name", "linux"},
      {"kernel.version", "6.1.0"},
      {"nomad.bridge.hairpin_mode", "false"},
      {"nomad.service_discovery", "true"},
      {"nomad.version", "2.0.6"},
      {"numa.node.count", "1"},
      {"os.cgroups.version", "2"},
      {"os.name", "debian"},
      {"os.signals",
       "SIGABRT,SIGALRM,SIGBUS,SIGCONT,SIGFPE,SIGHUP,SIGILL,SIGINT,SIGIO,SIGIOT,SIGKILL,SIGNULL,SIGPIPE,SIGPROF,"
       "SIGQUIT,"
       "SIGSEGV,SIGSTOP,SIGSYS,SIGTERM,SIGTRAP,SIGTSTP,SIGTTIN,SIGTTOU,SIGUSR1,SIGUSR2,SIGWINCH,SIGXCPU,SIGXFSZ"},
      {"os.version", "12.5"},
      {"plugins.cni.version.bandwidth", "v1.5.1"},
      {"plugins.cni.version.bridge", "v1.5.1"},
      {"plugins.cni.version.consul-cni", "v1.5.1"},
      {"plugins.cni.version.dhcp", "v1.5.1"},
      {"plugins.cni.version.firewall", "v1.5.1"},
      {"plugins.cni.version.host-device", "v1.5.1"},
      {"plugins.cni.version.host-local", "v1.5.1"},
      {"plugins.cni.version.ipvlan", "v1.5.1"},
      {"plugins.cni.version.loopback", "v1.5.1"},
      {"plugins.cni.version.macvlan", "v1.5.1"},
      {"plugins.cni.version.portmap", "v1.5.1"},
      {"plugins.cni.version.static", "v1.5.1"},
      {"plugins.cni.version.vlan", "v1.5.1"},
      {"plugins.host_volume.mkdir.version", "0.0.1"},
      {"vault.accessible", "true"},
      {"vault.cluster_name", "vault-cluster"},
      {"vault.version", "1.17.2"}};
  static constexpr std::pair<const char*, const char*> kMeta[] = {
      // R-STORE-375
      {"connect.gateway_image", "docker.io/envoyproxy/envoy:v${NOMAD_envoy_version}"},
      {"connect.log_level", "info"},
      {"connect.proxy_concurrency", "1"},
      {"connect.sidecar_image", "docker.io/envoyproxy/envoy:v${NOMAD_envoy_version}"},
      {"connect.transparent_proxy.default_outbound_port", "15001"},
      {"connect.transparent_proxy.default_uid", "101"}};
  for (const auto& [key, value] : kAttributes) node.attributes.try_emplace(key, value);
  for (const auto& [key, value] : kMeta) node.meta.try_emplace(key, value);
  node.attributes.try_emplace("unique.consul.name", node.name);
  node.attributes.try_emplace("unique.hostname", node.name);
  for (const char* driver : {"docker", "exec", "java", "mock_driver", "podman", "qemu", "raw_exec"}) {
    node.attributes.try_emplace(std::string("driver.") + driver, "1");
    auto& given = node.drivers[driver];
    if (given) continue;
    auto& info = given.emplace();
    info.detected = info.healthy = true;
    info.health_description = "Healthy";
    info.attributes[std::string("driver.") + driver] = "true";
  }
  if (!node.node_resources) return;
  const auto is_bridge = [](const auto& network) { return network.mode == "bridge"; };
  auto& networks = node.node_resources->networks;
  if (std::none_of(networks.begin(), networks.end(), is_bridge)) networks.emplace_back().mode = "bridge";
  if (!node.node_resources->node_networks) node.node_resources->node_networks.emplace();
  auto& cards = *node.node_resources->node_networks;
  if (std::any_of(cards.begin(), cards.end(), is_bridge)) return;
  model::NodeNetworkResource& bridge = cards.emplace_back();
  bridge.mode = "bridge", bridge.device = "nomad";
}

/// The same for a complete node; computes its class again.
void complete_node(model::Node& node) {
  add_client_facts(node);
  node.computed_class = model::computed_class(node);
}

void set_attributes(model::Node& node, const std::string& address) {
  const auto set = [&](const char* key, std::string value) { node.attributes[key] = std::move(value); };
  set("cpu.modelname", "Generic CPU"), set("cpu.numcores", std::to_string(kCores));
  set("cpu.reservablecores", std::to_string(kCores)), set("numa.node0.cores", fmt::format("0-{}", kCores - 1));
  set("cpu.frequency", std::to_string(kCoreMhz)), set("cpu.totalcompute", std::to_string(kCores * kCoreMhz));
  set("cpu.usablecompute", std::to_string(kCores * kCoreMhz));
  set("memory.totalbytes", std::to_string(kMemoryMb << 20));
  set("plugins.host_volume.mkdir.version", "0.0.1");  // R-STORE-210
  set("unique.hostname", node.name), set("unique.network.ip-address", address);
  set("unique.storage.volume", "/dev/vda");
  set("unique.storage.bytestotal", std::to_string(kDiskMb << 20));
  set("unique.storage.bytesfree", std::to_string(kDiskMb << 20));
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

/// Registration refuses jobs of a namespace that does not exist.
void add_namespaces(const sim::JobStream& jobs, model::ClusterState& state) {
  std::set<std::string> known = {"default"};
  for (const model::Namespace& one : state.namespaces) known.insert(one.name);
  for (const auto& job : jobs.templates)
    if (known.insert(job->namespace_).second)
      state.namespaces.push_back({.name = job->namespace_, .capabilities = {}, .extra = {}});
}

/// The workload's queue policy; null: Nomad's order.
Result<std::shared_ptr<broker::QueueOrder>> served_order(const sim::Workload& workload, const sim::JobStream& jobs,
                                                         bool free_order) {
  const auto refuse = [&](const char* problem, const char* remedy) {
    return tl::unexpected(InputError{workload.path, "queue", problem, remedy});
  };
  auto policy = sim::queue_policy(workload, jobs);
  if (!policy) return tl::unexpected(policy.error());
  if (!*policy) return nullptr;
  if (free_order)
    return refuse("workers that commit in any order take evaluations as they come", "leave out --order free");
  if (const auto why = run::LifeOrder::refused(**policy)) return refuse(why->first, why->second);
  return std::make_shared<run::LifeOrder>(std::move(*policy), jobs);
}

/// The cluster of a workload with its initial allocations; the script plays later events.
Result<void> take_workload(const std::string& path, const StartOptions& options, Start& out,
                           std::shared_ptr<WorkloadScript>& script) {
  auto workload = sim::read_workload(path);
  if (!workload) return tl::unexpected(workload.error());
  auto inputs = sim::make_inputs(*workload);
  if (!inputs) return tl::unexpected(inputs.error());
  auto queue = served_order(*workload, inputs->jobs, options.free_order);
  if (!queue) return tl::unexpected(queue.error());
  const bool lives = workload->life.has_value();
  if (lives) {
    out.config = run::life_config(*workload, *inputs);
    out.state = run::life_start(*workload, *inputs);
  } else {
    tables::StateStore store;
    sim::load_store(store, inputs->cluster);
    out.state = tables::to_cluster(store.current());
    sim::adopt_configuration(*workload, inputs->cluster);
    out.state.scheduler_config =
        run::configuration_of(*workload, out.state.scheduler_config.value_or(model::SchedulerConfiguration{}));
    out.config.server = run::server_settings(*workload);
  }
  out.config.server.queue = std::move(*queue);
  for (model::Node& node : out.state.nodes) complete_node(node);
  add_namespaces(inputs->jobs, out.state);
  if (options.paused) return {};
  auto made = make_workload_script(std::move(*workload), std::move(*inputs), complete_node);
  if (!made) return tl::unexpected(made.error());
  script = std::move(*made);
  return {};
}

Result<void> take_source(const StartOptions& options, Start& out, std::shared_ptr<WorkloadScript>& script) {
  const bool exists = agent::is_address(options.source) || std::filesystem::exists(options.source);
  if (exists && !options.source.ends_with(".toml")) {
    agent::SourceOptions sources = options.source_options;
    sources.import.now_ns = options.begin_ns;
    auto cluster = agent::import_sources({options.source}, sources);
    if (!cluster) return tl::unexpected(cluster.error());
    out.state = std::move(cluster->state);
    out.warnings = std::move(cluster->warnings), out.notes = std::move(cluster->notes);
    return {};
  }
  if (exists) return take_workload(options.source, options, out, script);
  const auto path = sim::find_workload(options.source);
  if (!path)
    return tl::unexpected(InputError{options.source, "", "is neither a file or folder nor the name of a workload",
                                     "name a cluster's export, a CLUSTER.json, or a workload of berth run --list"});
  return take_workload(*path, options, out, script);
}

}  // namespace

namespace {

/// The template of made-up nodes given by --node-template; nullopt: the default machine.
Result<std::optional<model::Node>> find_template(const StartOptions& options, const model::ClusterState& state) {
  const std::string& name = options.node_template;
  if (name.empty()) return std::optional<model::Node>();
  for (const model::Node& node : state.nodes)
    if (node.id == name || node.name == name) return node;
  std::error_code failed;
  if (!std::filesystem::exists(name, failed))
    return tl::unexpected(InputError{"--node-template", "",
                                     "'" + name + "' is neither a file nor a node of the cluster",
                                     "name a file with a node as GET /v1/node/:id gives it, or a node of the cluster"});
  auto cluster = io::import_cluster(name, {});
  if (!cluster) return tl::unexpected(cluster.error());
  if (cluster->state.nodes.empty())
    return tl::unexpected(
        InputError{name, "", "holds no node", "name a file with a node as GET /v1/node/:id gives it, or an export"});
  return std::move(cluster->state.nodes.front());
}

std::string address_of(std::uint64_t number) {
  // Reserved addresses (addresses.h), because private ones could be real machines of the user.
  return fmt::format("240.{}.{}.{}", number >> 16 & 255, number >> 8 & 255, number & 255);
}

/// A copy of a machine with a new name, ID and address.
model::Node copied_node(const model::Node& from, std::uint64_t number, std::uint64_t seed) {
  const model::Node own = made_up_node(number, seed);
  model::Node node = from;
  node.id = own.id, node.name = own.name;
  node.status = "ready", node.scheduling_eligibility = "eligible";
  node.drain_strategy.reset(), node.last_drain = json::Value(), node.events = json::Value();
  node.status_description.clear(), node.http_addr.clear();
  const std::string address = address_of(number);
  for (const char* key : {"unique.hostname", "unique.consul.name"}) node.attributes[key] = node.name;
  node.attributes["unique.network.ip-address"] = address;
  node.attributes.erase("unique.advertise.address"), node.attributes.erase("unique.host_id");
  if (node.node_resources) {
    for (model::NetworkResource& network : node.node_resources->networks)
      if (!network.ip.empty()) network.ip = address, network.cidr = address + "/32";
    if (node.node_resources->node_networks)
      for (model::NodeNetworkResource& card : *node.node_resources->node_networks)
        for (model::NodeNetworkAddress& at : card.addresses)
          if (at.address.find(':') == std::string::npos) at.address = address;
  }
  node.computed_class = model::computed_class(node);
  return node;
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
  const std::string address = address_of(number);
  set_attributes(node, address);
  set_resources(node, address);
  add_client_facts(node);
  model::canonicalize(node);
  node.computed_class = model::computed_class(node);
  return node;
}

// Time from an allocation's arrival at its client until a task runs, for folders and hooks.
constexpr std::int64_t kStartDelay = 150'000'000;
constexpr std::int64_t kRestartDelay = 10'600'000;  // with existing folders; median of eight recorded restarts

namespace {

bool has_node(const model::ClusterState& state, const std::string& name) {
  return std::any_of(state.nodes.begin(), state.nodes.end(),
                     [&](const model::Node& node) { return node.id == name || node.name == name; });
}

void apply_settings(const MadeUpSettings& settings, model::Node& node) {
  if (!settings.datacenter.empty()) node.datacenter = settings.datacenter;
  if (!settings.node_class.empty()) node.node_class = settings.node_class == "none" ? "" : settings.node_class;
  if (!settings.node_pool.empty()) node.node_pool = settings.node_pool;
  for (const auto& [key, value] : settings.meta) node.meta[key] = value;
  node.computed_class = model::computed_class(node);
}

void set_name(model::Node& node, const std::string& name) {
  node.name = name;
  for (const char* key : {"unique.hostname", "unique.consul.name"}) node.attributes[key] = name;
}

client::DriverDefaults start_drivers(std::uint64_t seed) {
  client::DriverDefaults out;
  out.start_delay_ns = kStartDelay, out.restart_delay_ns = kRestartDelay;
  out.seed = seed;
  return out;
}

/// The node whose client the agent is: the given one, or the only node (R-STORE-300).
Result<std::string> find_local(const StartOptions& options, const model::ClusterState& state) {
  if (options.self_node.empty()) return state.nodes.size() == 1 ? state.nodes.front().id : "";
  for (const model::Node& node : state.nodes)
    if (node.id == options.self_node || node.name == options.self_node) return node.id;
  return tl::unexpected(InputError{"--self-node", "", "'" + options.self_node + "' is no node of the cluster",
                                   "give the name or ID of a node, or make nodes up with --nodes N"});
}

}  // namespace

Result<Start> prepare(const StartOptions& options) {
  Start out;
  std::shared_ptr<WorkloadScript> script;
  if (!options.source.empty())
    if (auto taken = take_source(options, out, script); !taken) return tl::unexpected(taken.error());
  model::ClusterState& state = out.state;
  if (!options.source.empty() && state.nodes.empty() && options.nodes == 0)
    return tl::unexpected(
        InputError{options.source, "", "holds no nodes, so that nothing could be placed",
                   "name the export of a whole cluster, or let `berth serve` make nodes up with --nodes N"});
  const auto node_template = find_template(options, state);
  if (!node_template) return tl::unexpected(node_template.error());
  std::int64_t now_ns = options.begin_ns;
  if (now_ns == 0) now_ns = dryrun::newest_time(state).ns;
  if (now_ns == 0) now_ns = options.now_ns;
  for (std::int64_t number = 0; number < options.nodes; ++number) {
    const auto own = static_cast<std::uint64_t>(number);
    state.nodes.push_back(*node_template ? copied_node(**node_template, own, options.seed)
                                         : made_up_node(own, options.seed));
    apply_settings(options.made_up, state.nodes.back());
    const bool is_local = number == 0 && !options.self_node.empty() && !has_node(state, options.self_node);
    if (is_local) set_name(state.nodes.back(), options.self_node);
    state.nodes.back().create_index = ++state.index;  // two entries: it registers, and becomes ready
    state.nodes.back().modify_index = ++state.index;
    state.nodes.back().status_updated_at = now_ns / base::kSecond;
    state.nodes.back().events = registered_event(now_ns);
    for (auto& driver : state.nodes.back().drivers) driver.second->update_time.ns = now_ns;
  }
  if (const std::string& pool = options.made_up.node_pool;
      !pool.empty() && std::none_of(state.node_pools.begin(), state.node_pools.end(),
                                    [&](const model::NodePool& each) { return each.name == pool; }))
    state.node_pools.emplace_back().name = pool;  // created with its first node
  http::complete(state);
  auto local = find_local(options, state);
  if (!local) return tl::unexpected(local.error());
  out.local_node = std::move(*local);
  if (!options.self_node.empty()) {
    for (const model::Node& node : state.nodes)
      if (node.id == out.local_node) out.agent_name = node.name;
  }
  if (script) {
    script->begin(now_ns, start_drivers(options.seed));
    out.config.tasks = script->model();
    out.script = std::move(script);
  }
  out.config.seed = options.seed;
  out.config.start_ns = now_ns;
  out.config.server.sources = options.sources;
  out.config.server.workers = options.workers;
  using server::Execution;
  out.config.server.execution = options.free_order    ? Execution::free
                                : options.workers > 1 ? Execution::ahead
                                                      : Execution::inline_;
  lifecycle::HeartbeatConfig& heartbeats = out.config.watchers.heartbeats;
  if (options.heartbeat_grace_ns != 0) heartbeats.grace_ns = options.heartbeat_grace_ns;
  if (options.min_heartbeat_ttl_ns != 0) heartbeats.min_ttl_ns = options.min_heartbeat_ttl_ns;
  out.config.drivers = start_drivers(options.seed);
  out.config = http::served(std::move(out.config));
  return out;
}

Result<std::unique_ptr<http::Service>> make_service(const ServiceOptions& options) {
  http::ServiceOptions service = options;
  service.simulation.keep_addresses = options.start.keep_addresses;
  if (!options.start.made_up.datacenter.empty()) service.simulation.datacenter = options.start.made_up.datacenter;
  auto out = http::Service::listen(service);
  if (!out) return out;
  auto start = prepare(options.start);
  if (!start) return tl::unexpected(start.error());
  (*out)->open(std::move(*start));
  return out;
}

}  // namespace berth::serve
