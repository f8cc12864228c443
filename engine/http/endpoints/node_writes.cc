// Requests that change nodes (R-API-310 to 314).
#include "http/endpoints/answers.h"
#include "http/endpoints/endpoints.h"
#include "http/endpoints/objects.h"

namespace berth::http {

namespace {

bool is_known_node(Simulation& simulation, const std::string& id, Reply& reply) {
  if (!is_whole_id(id, "node lookup failed: ", reply)) return false;
  if (simulation.log().node(id)) return true;
  reply.fail(500, "node not found");
  return false;
}

/// Answer to drain and eligibility. `index`: of the entry on the node, 0 if none.
void send_node_answer(Reply& reply, const fsm::Answer& answer, std::uint64_t index, std::uint64_t node_modify_index) {
  if (!answer.error.empty()) return reply.fail(answer.error);
  json::Value out = json::Value::object();
  out.set("EvalIDs", ids_or_null(answer.eval_ids)), out.set("EvalCreateIndex", answer.eval_create_index);
  out.set("NodeModifyIndex", node_modify_index), out.set("Index", index);
  reply.index(index);
  reply.json(out);
}

void drain_node(Simulation& simulation, const Request& request, Reply& reply) {  // R-API-310, 311
  const auto body = object_body(request, "NodeUpdateDrainRequest", reply);
  if (!body) return;
  const Expected expected{*body, "NodeUpdateDrainRequest", reply};
  const auto spec = expected.object("DrainSpec");
  const auto eligible = expected.boolean("MarkEligible");
  const auto meta = expected.object("Meta");
  if (!spec || !eligible || !meta) return;
  const Expected of_spec{*spec, "DrainSpec", reply};
  const auto deadline = of_spec.integer("Deadline");
  const auto ignore = of_spec.boolean("IgnoreSystemJobs");
  if (!deadline || !ignore || !is_known_node(simulation, request.captures[0], reply)) return;
  living::NodeDrain event;
  event.node_id = request.captures[0];
  event.clear = spec->is_null(), event.deadline = *deadline, event.ignore_system_jobs = *ignore;
  event.mark_eligible = *eligible, event.meta = *meta;
  const fsm::Answer answer = simulation.apply(event);
  send_node_answer(reply, answer, answer.node_modify_index, answer.node_modify_index);
}

void set_eligibility(Simulation& simulation, const Request& request, Reply& reply) {  // R-API-312
  const auto body = object_body(request, "NodeUpdateEligibilityRequest", reply);
  if (!body) return;
  const Expected expected{*body, "NodeUpdateEligibilityRequest", reply};
  const auto own = expected.text("NodeID"), wanted = expected.text("Eligibility");
  if (!own || !wanted) return;
  const std::string& id = own->empty() ? request.captures[0] : *own;
  if (*wanted != "eligible" && *wanted != "ineligible")
    return reply.fail(500, "invalid scheduling eligibility \"" + *wanted + "\"");
  if (!is_known_node(simulation, id, reply)) return;
  const fsm::Answer answer = simulation.apply(living::NodeEligibility{id, *wanted == "eligible"});
  send_node_answer(reply, answer, answer.node_modify_index, 0);
}

/// Answer to evaluate and purge, like that to a client's registration.
json::Value registration_answer(const fsm::Answer& answer, std::uint64_t index) {
  json::Value out = json::Value::object();
  out.set("HeartbeatTTL", 0), out.set("EvalIDs", ids_or_null(answer.eval_ids));
  out.set("EvalCreateIndex", answer.eval_create_index), out.set("NodeModifyIndex", 0);
  out.set("LeaderRPCAddr", ""), out.set("NumNodes", 0), out.set("Servers", nullptr);
  out.set("SchedulingEligibility", ""), out.set("Features", 0), out.set("SignedIdentity", nullptr);
  set_read_meta(out, index, false);
  return out;
}

void evaluate_node(Simulation& simulation, const Request& request, Reply& reply) {  // R-API-313
  if (!is_known_node(simulation, request.captures[0], reply)) return;
  const auto node = simulation.log().node(request.captures[0]);
  fsm::Answer answer = simulation.apply(living::NodeEvaluate{request.captures[0]});
  answer.index = answer.eval_create_index;
  json::Value out = registration_answer(answer, answer.index), server = json::Value::object();
  server.set("RPCAdvertiseAddr", "127.0.0.1:4647"), server.set("RPCMajorVersion", 0);
  server.set("RPCMinorVersion", 0), server.set("Datacenter", simulation.agent().datacenter);
  out.set("LeaderRPCAddr", "127.0.0.1:4647"), out.set("NumNodes", simulation.state().nodes.size());
  out.set("Servers", json::Array{server}), out.set("SchedulingEligibility", node->scheduling_eligibility);
  send_answer(reply, answer, std::move(out));
}

/// A client that still runs registers again.
void purge_node(Simulation& simulation, const Request& request, Reply& reply) {  // R-API-314
  if (!is_known_node(simulation, request.captures[0], reply)) return;
  fsm::Answer answer = simulation.apply(living::NodeDeregister{{request.captures[0]}, false});
  answer.index = answer.node_modify_index;
  json::Value out = registration_answer(answer, answer.index);
  out.set("NodeModifyIndex", answer.node_modify_index);
  send_answer(reply, answer, std::move(out));
}

}  // namespace

void add_node_write_routes(Router& router) {
  router.write("/v1/node/*/drain", drain_node);
  router.write("/v1/node/*/eligibility", set_eligibility);
  router.write("/v1/node/*/evaluate", evaluate_node);
  router.write("/v1/node/*/purge", purge_node);
}

}  // namespace berth::http
