// Who the server is: status, regions (R-API-510).
#include "serve/endpoints/endpoints.h"

namespace berth::serve {

namespace {

constexpr const char* kRpcAddress = "127.0.0.1:4647";

void leader(Simulation& simulation, const Request&, Reply& reply) {
  reply.json(simulation.cluster().has_leader() ? kRpcAddress : "");
}

void peers(Simulation&, const Request&, Reply& reply) { reply.json(json::Array{kRpcAddress}); }

void regions(Simulation&, const Request&, Reply& reply) { reply.json(json::Array{"global"}); }

}  // namespace

void add_status_routes(Router& router) {
  router.plain("/v1/status/leader", leader);
  router.plain("/v1/status/peers", peers);
  router.plain("/v1/regions", regions);
}

Router make_router() {
  Router router;
  add_allocation_routes(router);
  add_deployment_routes(router);
  add_evaluation_routes(router);
  add_job_routes(router);
  add_job_write_routes(router);
  add_node_routes(router);
  add_status_routes(router);
  return router;
}

}  // namespace berth::serve
