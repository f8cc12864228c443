// Requests that change deployments; the ID follows the verb in the path (R-API-431 to 433).
#include "http/endpoints/answers.h"
#include "http/endpoints/endpoints.h"
#include "http/endpoints/objects.h"
#include "model/predicates.h"

namespace berth::http {

namespace {

using OpKind = living::DeploymentOp::Kind;

void answer_operation(Simulation& simulation, const living::DeploymentOp& event, Reply& reply) {
  if (!is_whole_id(event.deployment_id, "deployment lookup failed: ", reply)) return;
  fsm::Answer answer = simulation.apply(event);
  constexpr std::string_view kUnknown = "Unknown allocation ";
  if (answer.error.starts_with(kUnknown)) answer.error.replace(0, kUnknown.size(), "unknown alloc ");
  json::Value out = json::Value::object();
  out.set("EvalID", answer.eval_id), out.set("EvalCreateIndex", answer.eval_id.empty() ? 0 : answer.index);
  out.set("DeploymentModifyIndex", answer.index), out.set("Index", answer.index);
  out.set("RevertedJobVersion", answer.reverted_version ? json::Value(*answer.reverted_version) : json::Value());
  send_answer(reply, answer, std::move(out));
}

/// The body, if its deployment is that of the path; nullopt: the reply contains the error.
std::optional<json::Value> checked_body(const Request& request, std::string_view type, Reply& reply) {
  auto body = object_body(request, type, reply);
  if (!body) return std::nullopt;
  const auto id = Expected{*body, type, reply}.text("DeploymentID");
  if (!id) return std::nullopt;
  if (*id == request.captures[0]) return body;
  reply.fail(400, id->empty() ? "DeploymentID must be specified" : "Deployment ID does not match");
  return std::nullopt;
}

void fail_deployment(Simulation& simulation, const Request& request, Reply& reply) {
  living::DeploymentOp event;
  event.deployment_id = request.captures[0], event.kind = OpKind::fail;
  answer_operation(simulation, event, reply);
}

void pause_deployment(Simulation& simulation, const Request& request, Reply& reply) {
  const auto body = checked_body(request, "DeploymentPauseRequest", reply);
  if (!body) return;
  const auto pauses = Expected{*body, "DeploymentPauseRequest", reply}.boolean("Pause");
  if (!pauses) return;
  living::DeploymentOp event;
  event.deployment_id = request.captures[0], event.kind = *pauses ? OpKind::pause : OpKind::resume;
  answer_operation(simulation, event, reply);
}

void promote_deployment(Simulation& simulation, const Request& request, Reply& reply) {
  const auto body = checked_body(request, "DeploymentPromoteRequest", reply);
  if (!body) return;
  const Expected expected{*body, "DeploymentPromoteRequest", reply};
  const auto all = expected.boolean("All");
  const auto groups = expected.texts("Groups");
  if (!all || !groups) return;
  living::DeploymentOp event;
  event.deployment_id = request.captures[0], event.kind = OpKind::promote;
  if (!*all) {
    event.groups = *groups;
    if (event.groups.empty()) event.groups = {""};  // neither all nor given groups: no group
  }
  answer_operation(simulation, event, reply);
}

/// No effect: only multi-region deployments are ever blocked (R-API-433).
void unblock_deployment(Simulation& simulation, const Request& request, Reply& reply) {
  const auto body = checked_body(request, "DeploymentUnblockRequest", reply);
  if (!body || !is_whole_id(request.captures[0], "deployment lookup failed: ", reply)) return;
  const auto deployment = simulation.log().deployment(request.captures[0]);
  if (!deployment) return reply.fail(500, "deployment not found");
  if (!model::is_active_deployment(deployment->status)) return reply.fail(500, "can't unblock terminal deployment");
  if (deployment->status == "running") return reply.fail(500, "can't unblock running deployment");
  json::Value out = json::Value::object();
  out.set("EvalID", ""), out.set("EvalCreateIndex", 0), out.set("DeploymentModifyIndex", 0), out.set("Index", 0);
  out.set("RevertedJobVersion", nullptr);
  reply.index(0);
  reply.json(out);
}

void set_alloc_health(Simulation& simulation, const Request& request, Reply& reply) {
  const auto body = checked_body(request, "DeploymentAllocHealthRequest", reply);
  if (!body) return;
  const Expected expected{*body, "DeploymentAllocHealthRequest", reply};
  const auto healthy = expected.texts("HealthyAllocationIDs"), unhealthy = expected.texts("UnhealthyAllocationIDs");
  if (!healthy || !unhealthy) return;
  living::DeploymentOp event;
  event.deployment_id = request.captures[0], event.kind = OpKind::set_health;
  event.healthy = *healthy, event.unhealthy = *unhealthy;
  answer_operation(simulation, event, reply);
}

}  // namespace

void add_deployment_write_routes(Router& router) {
  router.write("/v1/deployment/fail/*", fail_deployment);
  router.write("/v1/deployment/pause/*", pause_deployment);
  router.write("/v1/deployment/promote/*", promote_deployment);
  router.write("/v1/deployment/unblock/*", unblock_deployment);
  router.write("/v1/deployment/allocation-health/*", set_alloc_health);
}

}  // namespace berth::http
