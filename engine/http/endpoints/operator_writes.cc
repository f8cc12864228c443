// The scheduler configuration, garbage collection, deletion of evaluations (R-API-404, 500 to 502).
#include "base/text.h"
#include "http/endpoints/answers.h"
#include "http/endpoints/endpoints.h"
#include "http/filter/filter.h"
#include "http/go_json.h"
#include "http/go_shape.h"
#include "io/json_parse.h"
#include "model/codec/codec.h"

namespace berth::http {

namespace {

constexpr std::size_t kEvalIdsMost = 7281;  // R-API-404

// ---------------------------------------------------------------- the scheduler configuration

std::uint64_t configuration_index(Simulation& simulation, const Request&) {
  const auto& configuration = simulation.state().cold->scheduler_config;
  return configuration ? configuration->modify_index : 0;
}

void read_configuration(Simulation& simulation, const Request& request, Reply& reply) {
  const auto& configuration = simulation.state().cold->scheduler_config;
  json::Value out = json::Value::object();
  out.set("SchedulerConfig", configuration ? model::to_json(*configuration) : json::Value());
  set_read_meta(out, configuration_index(simulation, request), true);
  reply.json(out);
}

void write_configuration(Simulation& simulation, const Request& request, Reply& reply) {  // R-API-501
  const auto bad = [&](const std::string& why) { reply.fail(400, "Error parsing scheduler config: " + why); };
  const auto body = io::parse_json(request.body, "request");
  if (!body) return bad(go_json_problem(request.body).value_or(body.error().problem));
  constexpr const char* kType = "SchedulerConfiguration";
  if (!body->is_object() && !body->is_null())
    return bad(std::string("json: cannot unmarshal ") + go_kind(*body) + " into Go value of type api." + kType);
  if (const auto problem = go_shape_problem(*body, kType)) return bad(*problem);
  living::SetSchedulerConfig event;
  model::ReadOptions options;
  options.path = "request", options.ignore_case = true;
  if (const auto read = model::from_json(*body, event.configuration, options); !read) return bad(read.error().problem);
  if (body_member(*body, "PreemptionConfig").is_null())  // replaced completely: absent settings are off
    event.configuration.preemption_config = {false, false, false, false};
  std::string& algorithm = event.configuration.scheduler_algorithm;
  if (algorithm.empty()) algorithm = "binpack";  // also replaced completely
  if (algorithm != "binpack" && algorithm != "spread")
    return reply.fail(400, "invalid scheduler algorithm: " + algorithm);
  if (const std::string* cas = request.find("cas"); cas && !cas->empty()) {
    event.only_after = base::parse_uint64(*cas);
    if (!event.only_after)
      return reply.fail(
          400, "Error parsing cas value: strconv.ParseUint: parsing " + base::go_quote(*cas) + ": invalid syntax");
  }
  const fsm::Answer answer = simulation.apply(event);
  json::Value out = json::Value::object();
  out.set("Updated", configuration_index(simulation, request) == answer.index), out.set("Index", answer.index);
  send_answer(reply, answer, std::move(out));
}

// ---------------------------------------------------------------- the system

void collect_garbage(Simulation& simulation, const Request&, Reply& reply) {
  const fsm::Answer answer = simulation.apply(living::CollectGarbage{});
  if (!answer.error.empty()) reply.fail(answer.error);
}

/// No effect: summaries are updated with every entry.
void reconcile_summaries(Simulation& simulation, const Request&, Reply&) {  // R-API-502
  simulation.log().recount_summaries(false);
}

// ---------------------------------------------------------------- evaluations

/// Evaluations of the request's namespace that the filter selects and that are safe to delete; nullopt: the reply
/// contains the error.
std::optional<std::vector<std::string>> selected_evals(Simulation& simulation, const Request& request,
                                                       const std::string& text, Reply& reply) {
  const auto filter = Filter::parse(text);
  if (!filter) return reply.fail(500, filter.error()), std::nullopt;
  std::vector<std::string> ids;
  const tables::EvalTable& evals = simulation.state().evals;
  for (tables::StoredEvalRow row = 0; row < evals.size(); ++row) {
    const auto eval = simulation.state().eval(row);
    if (!eval || !(request.all_namespaces() || eval->namespace_ == request.name_space)) continue;
    const auto matches = filter->matches(*eval);
    if (!matches) return reply.fail(500, matches.error()), std::nullopt;
    if (*matches && simulation.server().requests().is_safe_to_delete(row)) ids.push_back(eval->id);
  }
  return ids;
}

void delete_evals(Simulation& simulation, const Request& request, Reply& reply) {  // R-API-404
  const auto body = object_body(request, "EvalDeleteRequest", reply);
  if (!body) return;
  const Expected expected{*body, "EvalDeleteRequest", reply};
  auto ids = expected.texts("EvalIDs");
  const auto filter = expected.text("Filter");
  if (!ids || !filter) return;
  if (!ids->empty() && !filter->empty()) return reply.fail(400, "evals cannot be deleted by both ID and filter");
  if (ids->empty() && filter->empty()) return reply.fail(400, "evals must be deleted by either ID or filter");
  if (ids->size() > kEvalIdsMost)
    return reply.fail(400, "request includes " + std::to_string(ids->size()) + " evaluation IDs, must be " +
                               std::to_string(kEvalIdsMost) + " or fewer");
  if (!filter->empty() && !simulation.server().queues_enabled()) {
    ids = selected_evals(simulation, request, *filter, reply);
    if (!ids) return;
  }
  const fsm::Answer answer = simulation.apply(living::EvalDelete{*ids});
  json::Value out = json::Value::object();
  out.set("Count", ids->size()), out.set("Index", answer.index);
  send_answer(reply, answer, std::move(out));
}

}  // namespace

void add_operator_write_routes(Router& router) {
  router.read("/v1/operator/scheduler/configuration", read_configuration, {configuration_index, 0});
  router.write("/v1/operator/scheduler/configuration", write_configuration);
  router.add({"/v1/system/gc", kPut, RouteKind::plain, collect_garbage, {}});
  router.add({"/v1/system/reconcile/summaries", kPut, RouteKind::plain, reconcile_summaries, {}});
  router.remove("/v1/evaluations", delete_evals);
}

}  // namespace berth::http
