#include "serve/endpoints/endpoints.h"

namespace berth::serve {

Router make_router() {
  Router router;
  add_agent_routes(router);
  add_allocation_routes(router);
  add_deployment_routes(router);
  add_evaluation_routes(router);
  add_event_routes(router);
  add_job_routes(router);
  add_job_write_routes(router);
  add_metric_routes(router);
  add_node_routes(router);
  add_other_routes(router);
  add_page_routes(router);
  add_pool_routes(router);
  add_scaling_routes(router);
  add_search_routes(router);
  add_status_list_routes(router);
  return router;
}

}  // namespace berth::serve
