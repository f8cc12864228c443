// Requests that change an existing job (R-API-260 to 270).
#include "base/base64.h"
#include "http/endpoints/answers.h"
#include "http/endpoints/endpoints.h"
#include "http/endpoints/objects.h"

namespace berth::http {

namespace {

constexpr std::size_t kPayloadMost = 16'384;  // R-API-268

/// True if the body's ID is empty or that of the path.
bool is_same_id(const std::string& given, const Request& request, const char* otherwise, Reply& reply) {
  if (given.empty() || given == request.captures[0]) return true;
  reply.fail(400, otherwise);
  return false;
}

void deregister_job(Simulation& simulation, const Request& request, Reply& reply) {  // R-API-260
  const auto purge = bool_parameter(request, "purge", reply);
  if (!purge) return;
  if (!bool_parameter(request, "global", reply)) return;
  const auto priority = int_parameter(request, "eval_priority", reply);
  if (!priority) return;
  const auto no_delay = bool_parameter(request, "no_shutdown_delay", reply);
  if (!no_delay) return;
  if (*priority > 100) return reply.fail(400, "Eval priority must be between 1 and 100 inclusively");
  living::JobDeregister event;
  event.name_space = request.name_space, event.job_id = request.captures[0];
  event.purge = *purge, event.no_shutdown_delay = *no_delay, event.eval_priority = *priority;
  const fsm::Answer answer = simulation.apply(event);
  json::Value out = json::Value::object();
  out.set("EvalID", answer.eval_id), out.set("EvalCreateIndex", answer.eval_create_index);
  out.set("JobModifyIndex", answer.job_modify_index), out.set("VolumeEvalID", ""), out.set("VolumeEvalIndex", 0);
  set_read_meta(out, answer.index, false);
  send_answer(reply, answer, std::move(out));
}

void evaluate_job(Simulation& simulation, const Request& request, Reply& reply) {  // R-API-261
  const auto body = optional_body(request, "JobEvaluateRequest", reply);
  if (!body) return;
  const auto id = Expected{*body, "JobEvaluateRequest", reply}.text("JobID");
  if (!id) return;
  if (!request.body.empty() && id->empty()) return reply.fail(400, "Job ID must be specified");
  if (!is_same_id(*id, request, "JobID not same as job name", reply)) return;
  const bool force = body_member(body_member(*body, "EvalOptions"), "ForceReschedule").as_bool();
  const fsm::Answer answer =
      simulation.apply(living::JobEvaluate{namespace_of(request, *body), request.captures[0], force});
  send_answer(reply, answer, job_answer(answer));
}

void scale_job(Simulation& simulation, const Request& request, Reply& reply) {  // R-API-262, 263
  const auto body = object_body(request, "ScalingRequest", reply);
  if (!body) return;
  const Expected expected{*body, "ScalingRequest", reply};
  const auto count = expected.integer("Count");
  const auto message = expected.text("Message");
  const auto error = expected.boolean("Error");
  const auto meta = expected.object("Meta");
  const auto enforce = expected.index("JobModifyIndex");
  if (!count || !message || !error || !meta || !enforce) return;
  const json::Value& target = body_member(*body, "Target");
  const std::string &job = body_member(target, "Job").as_string(),
                    &space = body_member(target, "Namespace").as_string();
  if (!is_same_id(job, request, "job ID in payload did not match URL", reply)) return;
  living::JobScale event;
  event.name_space = request.name_space, event.job_id = request.captures[0];
  event.group = body_member(target, "Group").as_string();
  if (!space.empty() && space != event.name_space) return reply.fail(400, "namespace in payload did not match header");
  if (!body_member(*body, "Count").is_null()) event.count = *count;
  event.message = *message, event.error = *error, event.meta = *meta, event.enforce_index = *enforce;
  const fsm::Answer answer = simulation.apply(event);
  send_answer(reply, answer, job_answer(answer, "", true));
}

void revert_job(Simulation& simulation, const Request& request, Reply& reply) {  // R-API-264
  const auto body = object_body(request, "JobRevertRequest", reply);
  if (!body) return;
  const Expected expected{*body, "JobRevertRequest", reply};
  const auto id = expected.text("JobID");
  const auto version = expected.index("JobVersion"), enforce = expected.index("EnforcePriorVersion");
  if (!id || !version || !enforce) return;
  if (id->empty()) return reply.fail(400, "JobID must be specified");
  if (!is_same_id(*id, request, "Job ID does not match", reply)) return;
  living::JobRevert event{namespace_of(request, *body), request.captures[0], *version, {}};
  if (!body_member(*body, "EnforcePriorVersion").is_null()) event.enforce_version = *enforce;
  const fsm::Answer answer = simulation.apply(event);
  send_answer(reply, answer, job_answer(answer));
}

void set_job_stable(Simulation& simulation, const Request& request, Reply& reply) {  // R-API-265
  const auto body = object_body(request, "JobStabilityRequest", reply);
  if (!body) return;
  const Expected expected{*body, "JobStabilityRequest", reply};
  const auto id = expected.text("JobID");
  const auto version = expected.index("JobVersion");
  const auto stable = expected.boolean("Stable");
  if (!id || !version || !stable) return;
  if (id->empty()) return reply.fail(400, "JobID must be specified");
  if (!is_same_id(*id, request, "Job ID does not match", reply)) return;
  const fsm::Answer answer =
      simulation.apply(living::JobStability{namespace_of(request, *body), request.captures[0], *version, *stable});
  json::Value out = json::Value::object();
  out.set("Index", answer.index);
  send_answer(reply, answer, std::move(out));
}

// ---------------------------------------------------------------- tags

void answer_tag(Simulation& simulation, living::VersionTag event, Reply& reply) {
  const std::int64_t now = simulation.now();
  const fsm::Answer answer = simulation.apply(event);
  json::Value out = json::Value::object();
  out.set("Name", event.remove ? "" : event.name), out.set("Description", event.remove ? "" : event.description);
  out.set("TaggedTime", event.remove ? 0 : now);
  set_read_meta(out, answer.index, false);
  if (!answer.error.empty()) return reply.fail(answer.error);
  reply.json(out);
}

bool has_tag_name(const Request& request, Reply& reply) {
  if (!request.captures[1].empty()) return true;
  reply.fail(404, "invalid job tag endpoint");
  return false;
}

void tag_version(Simulation& simulation, const Request& request, Reply& reply) {  // R-API-266
  if (!has_tag_name(request, reply)) return;
  const auto body = object_body(request, "JobVersionTagRequest", reply);
  if (!body) return;
  const Expected expected{*body, "JobVersionTagRequest", reply};
  const auto version = expected.index("Version");
  const auto description = expected.text("Description");
  const auto latest = expected.boolean("Latest");
  if (!version || !description || !latest) return;
  living::VersionTag event{
      namespace_of(request, *body), request.captures[0], request.captures[1], false, *version, *description};
  if (*latest) event.version.reset();
  answer_tag(simulation, std::move(event), reply);
}

void untag_version(Simulation& simulation, const Request& request, Reply& reply) {
  if (!has_tag_name(request, reply)) return;
  answer_tag(simulation, {request.name_space, request.captures[0], request.captures[1], true, {}, ""}, reply);
}

// ---------------------------------------------------------------- children

void answer_dispatch(Simulation& simulation, const Request& request, living::JobDispatch event, Reply& reply) {
  if (event.payload.size() > kPayloadMost)
    return reply.fail(500, "Payload exceeds maximum size; " + std::to_string(event.payload.size()) + " > " +
                               std::to_string(kPayloadMost));
  if (const std::string* token = request.find("idempotency_token")) event.idempotency_token = *token;
  const fsm::Answer answer = simulation.apply(event);
  json::Value out = json::Value::object();
  out.set("DispatchedJobID", answer.dispatched_job_id), out.set("EvalID", answer.eval_id);
  out.set("EvalCreateIndex", answer.eval_create_index), out.set("JobCreateIndex", answer.job_modify_index);
  out.set("Index", answer.index);
  send_answer(reply, answer, std::move(out));
}

void dispatch_job(Simulation& simulation, const Request& request, Reply& reply) {  // R-API-267, 268
  const auto body = object_body(request, "JobDispatchRequest", reply);
  if (!body) return;
  const Expected expected{*body, "JobDispatchRequest", reply};
  const auto id = expected.text("JobID"), payload = expected.text("Payload"),
             prefix = expected.text("IdPrefixTemplate");
  const auto meta = expected.object("Meta");
  const auto priority = expected.integer("Priority");
  if (!id || !payload || !prefix || !meta || !priority) return;
  living::JobDispatch event;
  if (auto bytes = base::from_base64(*payload))
    event.payload = std::move(*bytes);
  else
    return reply.fail(400, "illegal base64 data at input byte 0");
  if (!is_same_id(*id, request, "Job ID does not match", reply)) return;
  event.name_space = namespace_of(request, *body), event.job_id = request.captures[0];
  event.id_prefix = *prefix, event.priority = *priority;
  for (const json::Member& entry : meta->members()) event.meta[entry.key] = entry.value.as_string();
  answer_dispatch(simulation, request, std::move(event), reply);
}

void dispatch_payload(Simulation& simulation, const Request& request, Reply& reply) {  // R-API-269
  living::JobDispatch event;
  event.name_space = request.name_space, event.job_id = request.captures[0];
  event.payload = request.body;
  answer_dispatch(simulation, request, std::move(event), reply);
}

void force_periodic(Simulation& simulation, const Request& request, Reply& reply) {  // R-API-270
  const fsm::Answer answer = simulation.apply(living::PeriodicForce{request.name_space, request.captures[0]});
  json::Value out = json::Value::object();
  out.set("EvalID", answer.eval_id), out.set("EvalCreateIndex", answer.eval_create_index);
  out.set("Index", answer.index);
  send_answer(reply, answer, std::move(out));
}

}  // namespace

void add_job_change_routes(Router& router) {
  router.remove("/v1/job/*", deregister_job);
  router.write("/v1/job/*/evaluate", evaluate_job);
  router.write("/v1/job/*/scale", scale_job);
  router.write("/v1/job/*/revert", revert_job);
  router.write("/v1/job/*/stable", set_job_stable);
  router.add({"/v1/job/*/tag", kAnyMethod, RouteKind::plain, refusal(404, "invalid job tag endpoint"), {}});
  router.add({"/v1/job/*/versions/*/tag", kPut | kPost, RouteKind::plain, tag_version, {}});
  router.add({"/v1/job/*/versions/*/tag", kDelete, RouteKind::plain, untag_version, {}});
  router.write("/v1/job/*/dispatch", dispatch_job);
  router.write("/v1/job/*/dispatch/payload", dispatch_payload);
  router.write("/v1/job/*/periodic/force", force_periodic);
}

}  // namespace berth::http
