// What changes jobs (R-API-210 to 218).
#include "base/text.h"
#include "model/registration/register_job.h"
#include "serve/endpoints/endpoints.h"

namespace berth::serve {

namespace {

/// The answer of writes on jobs (R-API-216).
json::Value job_answer(const fsm::Answer& answer, std::string warnings) {
  json::Value out = json::Value::object();
  out.set("EvalID", answer.eval_id), out.set("EvalCreateIndex", answer.eval_create_index);
  out.set("JobModifyIndex", answer.job_modify_index), out.set("Warnings", std::move(warnings));
  out.set("Index", answer.index), out.set("LastContact", 0), out.set("KnownLeader", false), out.set("NextToken", "");
  return out;
}

std::string warnings_text(const std::vector<std::string>& warnings) {  // R-API-217
  if (warnings.empty()) return "";
  std::string out = std::to_string(warnings.size()) + " warning(s):\n";
  for (const std::string& warning : warnings) out += "\n* " + warning;
  return out;
}

void register_from_body(Simulation& simulation, const Request& request, Reply& reply) {
  const auto body = json_body(request, reply);
  if (!body) return;
  if (!(*body)["Job"].is_object()) return reply.fail(400, "Job must be specified");
  const json::Value& given = (*body)["Job"];
  if (given["ID"].is_null()) return reply.fail(400, "Job ID hasn't been provided");
  if (!request.captures.empty() && given["ID"].as_string() != request.captures[0])
    return reply.fail(400, "Job ID does not match name");
  const std::int64_t priority = (*body)["EvalPriority"].as_int();
  if (priority != 0 && (priority < 1 || priority > 100))
    return reply.fail(400, "Eval priority must be between 1 and 100 inclusively");
  const auto& cold = *simulation.state().cold;
  model::RegistrationRequest asked;
  asked.path = "request";
  if (request.find("namespace")) asked.name_space = request.name_space;
  if (asked.name_space.empty()) asked.name_space = (*body)["Namespace"].as_string();
  asked.pools = &cold.node_pools;
  std::string space = asked.name_space.empty() ? given["Namespace"].as_string() : asked.name_space;
  const auto stored = simulation.log().job(space.empty() ? "default" : space, given["ID"].as_string());
  asked.stored = stored.get();
  auto registration = model::register_job(*body, asked);
  if (!registration) return reply.fail(400, registration.error().problem);
  if (!registration->error.empty()) return reply.fail(registration->error);
  living::JobRegister event;
  event.job = registration->job;
  event.eval_priority = priority;
  if ((*body)["EnforceIndex"].as_bool()) event.enforce_index = (*body)["JobModifyIndex"].as_uint();
  event.preserve_counts = (*body)["PreserveCounts"].as_bool();
  event.preserve_resources = (*body)["PreserveResources"].as_bool();
  const fsm::Answer answer = simulation.apply(event);
  if (!answer.error.empty()) return reply.fail(answer.error);
  reply.index(answer.index);
  reply.json(job_answer(answer, warnings_text(registration->warnings)));
}

}  // namespace

void add_job_write_routes(Router& router) {
  router.write("/v1/jobs", register_from_body);
  router.write("/v1/job/*", register_from_body);
}

}  // namespace berth::serve
