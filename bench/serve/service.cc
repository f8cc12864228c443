#include "serve/service.h"

#include "serve/endpoints/endpoints.h"
#include "serve/http/budget.h"

namespace berth::serve {

Result<std::unique_ptr<Service>> Service::make(const ServiceOptions& options) {
  auto guard = Guard::make(options.access, options.listen);
  if (!guard) return tl::unexpected(guard.error());
  auto server = http::Server::listen(options.listen, options.limits);
  if (!server) return tl::unexpected(server.error());
  auto start = prepare(options.start);
  if (!start) return tl::unexpected(start.error());
  std::unique_ptr<Service> out(new Service);
  out->guard_ = std::move(*guard);
  out->warnings_ = std::move(start->warnings);
  Simulation::Options simulation = options.simulation;
  simulation.keep_addresses = options.start.keep_addresses;
  simulation.acl = options.access.acl;
  simulation.http_address = (*server)->address();
  const std::size_t held = options.limits.held_bytes;
  simulation.store_bytes = (held != 0 ? held : http::Budget::quarter_of_memory()) / 4;
  simulation.local_node = start->local_node;
  if (!options.start.made_up.datacenter.empty()) simulation.datacenter = options.start.made_up.datacenter;
  if (!options.start.self_node.empty()) {
    for (const model::Node& node : start->state.nodes)
      if (node.id == start->local_node) simulation.agent_name = node.name;
  }
  out->simulation_ =
      std::make_unique<Simulation>(std::move(start->config), start->state, simulation, std::move(start->script));
  out->simulation_->count_connections([server = server->get()] { return server->connections(); });
  Router router = make_router();
  for (const Router::Attach& attach : router.attached()) out->simulation_->attach(attach);
  out->dispatcher_ = std::make_unique<Dispatcher>(*out->simulation_, std::move(router));
  out->server_ = std::move(*server);
  return out;
}

Service::~Service() { stop(); }

void Service::start() {
  simulation_->start();
  server_->start([this](std::shared_ptr<http::Exchange> exchange) { dispatcher_->serve(std::move(exchange)); },
                 [this](const http::RequestHead& head) { return guard_->check(head); });
}

void Service::stop() {
  if (!simulation_) return;
  server_->stop();
  simulation_->stop();
}

}  // namespace berth::serve
