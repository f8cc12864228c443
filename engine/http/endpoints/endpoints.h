// The tables of routes, one function per file of this folder.
#pragma once

#include "http/endpoint.h"
#include "http/simulation.h"

namespace berth::http {

void add_acl_login_routes(Router& router);
void add_acl_method_routes(Router& router);
void add_acl_policy_routes(Router& router);
void add_acl_token_routes(Router& router);
void add_agent_routes(Router& router);
void add_agent_control_routes(Router& router);
void add_alloc_file_routes(Router& router);
void add_allocation_routes(Router& router);
void add_berth_time_routes(Router& router);
void add_allocation_write_routes(Router& router);
void add_berth_question_routes(Router& router);
void add_berth_snapshot_routes(Router& router);
void add_client_side_routes(Router& router);
void add_deployment_routes(Router& router);
void add_deployment_write_routes(Router& router);
void add_evaluation_routes(Router& router);
void add_event_routes(Router& router);
void add_job_routes(Router& router);
void add_job_change_routes(Router& router);
void add_job_version_routes(Router& router);
void add_job_write_routes(Router& router);
void add_keyring_routes(Router& router);
void add_metric_routes(Router& router);
void add_node_routes(Router& router);
void add_node_write_routes(Router& router);
void add_operator_write_routes(Router& router);
void add_other_routes(Router& router);
void add_page_routes(Router& router);
void add_pool_routes(Router& router);
void add_scaling_routes(Router& router);
void add_search_routes(Router& router);
void add_service_routes(Router& router);
void add_status_list_routes(Router& router);
void add_variable_routes(Router& router);
void add_volume_routes(Router& router);

// Lists that also exist per pool; `pool` empty: of all pools.
void list_nodes(Simulation& simulation, const Request& request, Reply& reply, const std::string& pool);
void list_jobs(Simulation& simulation, const Request& request, Reply& reply, const std::string& pool);

/// The row of a route in the table of needs; null if there is none.
[[nodiscard]] const Need* need_of(const Route& route);

/// A router with all routes.
[[nodiscard]] Router make_router();

}  // namespace berth::http
