// The tables of routes, one function per file of this folder.
#pragma once

#include "serve/serve.h"
#include "serve/simulation.h"

namespace berth::serve {

void add_allocation_routes(Router& router);
void add_deployment_routes(Router& router);
void add_evaluation_routes(Router& router);
void add_job_routes(Router& router);
void add_job_write_routes(Router& router);
void add_node_routes(Router& router);
void add_status_routes(Router& router);

/// All of them.
[[nodiscard]] Router make_router();

}  // namespace berth::serve
