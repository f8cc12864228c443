#include <memory>
#include <string>

#include "http/endpoints/endpoints.h"
#include "http/observer.h"

namespace berth::http {

namespace {

/// Redirects a path to the one with a trailing slash.
void lead_below(const char* path, Router& router) {
  const std::string below = std::string(path) + "/";
  router.plain(path, [below](Simulation&, const Request&, Reply& reply) {
    reply.text(307, "<a href=\"" + below + "\">Temporary Redirect</a>.\n\n", "text/html; charset=utf-8");
    reply.header("Location", below);
  });
}

}  // namespace

Router make_router() {
  Router router;
  router.attach(
      [observer = std::make_shared<AgentObserver>()](Simulation& simulation) { observer->attach(simulation); });
  for (const char* path : {"/v1/job", "/v1/node", "/v1/allocation", "/v1/evaluation", "/v1/deployment", "/v1/var"})
    lead_below(path, router);
  add_acl_login_routes(router);
  add_acl_method_routes(router);
  add_acl_policy_routes(router);
  add_acl_token_routes(router);
  add_agent_routes(router);
  add_agent_control_routes(router);
  add_alloc_file_routes(router);
  add_allocation_routes(router);
  add_berth_time_routes(router);
  add_allocation_write_routes(router);
  add_berth_question_routes(router);
  add_berth_snapshot_routes(router);
  add_client_side_routes(router);
  add_deployment_routes(router);
  add_deployment_write_routes(router);
  add_evaluation_routes(router);
  add_event_routes(router);
  add_job_routes(router);
  add_job_change_routes(router);
  add_job_version_routes(router);
  add_job_write_routes(router);
  add_keyring_routes(router);
  add_metric_routes(router);
  add_node_routes(router);
  add_node_write_routes(router);
  add_operator_write_routes(router);
  add_other_routes(router);
  add_page_routes(router);
  add_pool_routes(router);
  add_scaling_routes(router);
  add_search_routes(router);
  add_service_routes(router);
  add_status_list_routes(router);
  add_variable_routes(router);
  add_volume_routes(router);
  (void)router.set_needs(need_of);
  return router;
}

}  // namespace berth::http
