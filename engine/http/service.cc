#include "http/service.h"

#include <algorithm>

#include "http/addresses.h"
#include "http/endpoints/endpoints.h"
#include "http/transport/budget.h"

namespace berth::http {
namespace {

model::NodePool built_in_pool(const char* name, const char* description) {  // R-API-460
  model::NodePool pool;
  pool.name = name, pool.description = description;
  pool.create_index = pool.modify_index = 1;
  return pool;
}

/// The first index of a pool: it exists from its first node on, or from before all nodes.
std::uint64_t first_index(const model::ClusterState& state, const std::string& pool) {
  std::uint64_t index = 0;
  for (const model::Node& node : state.nodes)
    if (pool != "default" && node.node_pool == pool && (index == 0 || node.create_index < index))
      index = node.create_index;
  return std::max<std::uint64_t>(index, 1);
}

}  // namespace

void complete(model::ClusterState& state) {
  state.index = std::max<std::uint64_t>(state.index, 1);
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
}

living::Config served(living::Config config) {
  config.server.keep_details = true;
  config.server.defer_metrics = false;
  config.journal = config.resume = true;
  // Reports of neighbouring nodes are a quarter of a tick apart, so a small cluster never batches them (R-CTRL-749).
  config.clients.own_ticks = true;
  if (config.clients.report_tick_ns > 0) config.server.client_batch_ns = config.clients.report_tick_ns / 4 - 1'000;
  // A node must not be lost before its first heartbeat, which no recording shows.
  std::int64_t& first_heartbeat = config.clients.first_heartbeat_ns;
  first_heartbeat = std::min(first_heartbeat, config.watchers.heartbeats.min_ttl_ns);
  // Nomad easily handles 15,000 pending evaluations for 10,000 nodes; a row is cheap.
  config.server.broker.evals = 1U << 20;
  config.server.broker.jobs = 1U << 20;
  return config;
}

Result<std::unique_ptr<Service>> Service::listen(const ServiceOptions& options) {
  auto guard = Guard::make(options.access, options.listen);
  if (!guard) return tl::unexpected(guard.error());
  auto server = transport::Server::listen(options.listen, options.limits);
  if (!server) return tl::unexpected(server.error());
  std::unique_ptr<Service> out(new Service);
  out->guard_ = std::move(*guard);
  out->options_ = options.simulation;
  out->options_.acl = options.access.acl;
  out->options_.http_address = (*server)->address();
  const std::size_t held = options.limits.held_bytes;
  out->options_.store_bytes = (held != 0 ? held : transport::Budget::quarter_of_memory()) / 4;
  out->server_ = std::move(*server);
  return out;
}

void Service::open(Start start) {
  complete(start.state);
  replace_addresses(start.state, options_.keep_addresses);
  warnings_ = std::move(start.warnings);
  options_.local_node = std::move(start.local_node);
  if (!start.agent_name.empty()) options_.agent_name = std::move(start.agent_name);
  simulation_ = std::make_unique<Simulation>(std::move(start.config), start.state, options_, std::move(start.script));
  simulation_->count_connections([server = server_.get()] { return server->connections(); });
  Router router = make_router();
  for (const Router::Attach& attach : router.attached()) simulation_->attach(attach);
  dispatcher_ = std::make_unique<Dispatcher>(*simulation_, std::move(router));
}

Service::~Service() { stop(); }

void Service::start() {
  simulation_->start();
  server_->start([this](std::shared_ptr<transport::Exchange> exchange) { dispatcher_->serve(std::move(exchange)); },
                 [this](const transport::RequestHead& head) { return guard_->check(head); });
}

void Service::stop() {
  if (!simulation_) return;
  server_->stop();
  simulation_->stop();
}

}  // namespace berth::http
