// Registering, validating and planning jobs (R-API-210 to 226).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>

#include "advice/plan_text.h"
#include "hcl/job_file.h"
#include "http/endpoints/answers.h"
#include "http/endpoints/endpoints.h"
#include "http/endpoints/entities.h"
#include "model/job.h"
#include "model/periodic/cron.h"
#include "model/registration/register_job.h"
#include "tables/export.h"

namespace berth::http {

namespace {

constexpr std::size_t kSourceMost = 1'000'000;  // R-API-218

/// The job of a body; null: the reply contains the error (R-API-211).
const json::Value* submitted_job(const json::Value& body, Reply& reply) {
  const json::Value& job = body_member(body, "Job");
  if (job.is_null()) return reply.fail(400, "Job must be specified"), nullptr;
  return &job;
}

/// True if the job is for another region. There is one region (R-API-40); a job of several goes to its first
/// (R-REG-312).
bool is_elsewhere(const json::Value& job) {
  const auto other = [](const std::string& region) { return !region.empty() && region != "global"; };
  if (other(body_member(job, "Region").as_string())) return true;
  const json::Array& regions = body_member(body_member(job, "Multiregion"), "Regions").items();
  return !regions.empty() && other(body_member(regions.front(), "Name").as_string());
}

bool scales_system_job(const json::Value& job) {
  if (body_member(job, "Type").as_string() != "system") return false;
  for (const json::Value& group : body_member(job, "TaskGroups").items())
    if (!body_member(group, "Scaling").is_null()) return true;
  return false;
}

/// The job in registered form. `own_namespace`: ignore the request's namespace (R-API-222).
Result<model::Registration> registration_of(Simulation& simulation, const Request& request, const json::Value& body,
                                            bool own_namespace = false) {
  const tables::ColdState& cold = *simulation.state().cold;
  std::vector<model::Namespace> namespaces = cold.namespaces;
  if (namespaces.empty()) namespaces.emplace_back().name = "default";
  model::RegistrationRequest asked;
  asked.path = "request", asked.over_http = true;
  if (!own_namespace) {
    if (request.find("namespace")) asked.name_space = request.name_space;
    if (asked.name_space.empty()) asked.name_space = body_member(body, "Namespace").as_string();
  }
  asked.namespaces = &namespaces;
  asked.pools = &cold.node_pools;
  asked.options = simulation.server().config().options;
  const std::string& audience = simulation.options().vault_audience;
  asked.limits.vault = !audience.empty();
  if (!audience.empty()) {
    asked.limits.vault_identity.set("Audience", json::Value(json::Array{json::Value(audience)}));
    asked.limits.vault_identity.set("TTL", 3600 * base::kSecond);
  }
  if (cold.scheduler_config)
    asked.limits.memory_oversubscription = cold.scheduler_config->memory_oversubscription_enabled;
  asked.new_id = [&simulation] { return base::to_text(simulation.server().draw_id()); };
  return model::register_job(body, asked);
}

/// `1.0 MB`, `10 MB`: a decimal only below 10 (R-REG-446).
std::string size_text(std::size_t bytes) {
  double value = static_cast<double>(bytes);
  const char* const units[] = {"B", "kB", "MB", "GB"};
  std::size_t unit = 0;
  while (value >= 1000 && unit + 1 < std::size(units)) value /= 1000, ++unit;
  value = std::floor(value * 10 + 0.5) / 10;
  return fmt::format("{:.{}f} {}", value, value < 10 ? 1 : 0, units[unit]);
}

std::optional<fsm::Submission> submitted_source(const json::Value& body, std::vector<std::string>& warnings) {
  const json::Value& given = body_member(body, "Submission");
  if (!given.is_object()) return std::nullopt;
  fsm::Submission out;
  out.source = body_member(given, "Source").as_string(), out.format = body_member(given, "Format").as_string();
  out.variable_flags = body_member(given, "VariableFlags"), out.variables = body_member(given, "Variables").as_string();
  if (out.source.empty() && out.format.empty()) return std::nullopt;
  std::size_t size = out.source.size() + out.variables.size();
  for (const json::Member& flag : out.variable_flags.members()) size += flag.key.size() + flag.value.as_string().size();
  if (size <= kSourceMost) return out;
  warnings.push_back("job source size of " + size_text(size) + " exceeds maximum of 1.0 MB and will be discarded");
  return std::nullopt;
}

std::string problem_of(const InputError& error) {
  return error.place.empty() ? error.problem : error.place + ": " + error.problem;
}

void register_from_body(Simulation& simulation, const Request& request, Reply& reply) {
  const auto body = object_body(request, "JobRegisterRequest", reply);
  if (!body) return;
  const json::Value* given = submitted_job(*body, reply);
  if (!given) return;
  const Expected expected{*body, "JobRegisterRequest", reply};
  const auto priority = expected.integer("EvalPriority");
  const auto enforce = expected.boolean("EnforceIndex"), counts = expected.boolean("PreserveCounts"),
             resources = expected.boolean("PreserveResources");
  const auto index = expected.index("JobModifyIndex");
  if (!priority || !enforce || !counts || !resources || !index) return;
  auto registration = registration_of(simulation, request, *body);
  if (!registration) return reply.fail(400, problem_of(registration.error()));
  const json::Value& id = body_member(*given, "ID");
  if (id.is_null()) return reply.fail(400, "Job ID hasn't been provided");
  if (!request.captures.empty() && id.as_string() != request.captures[0])
    return reply.fail(400, "Job ID does not match name");
  if (scales_system_job(*given))
    return reply.fail(400, "Task groups with job type system do not support scaling blocks");
  if (*priority != 0 && (*priority < 1 || *priority > 100))
    return reply.fail(400, "Eval priority must be between 1 and 100 inclusively");
  if (is_elsewhere(*given)) return reply.fail(500, "No path to region");
  if (!registration->error.empty()) return reply.fail(registration->error);
  living::JobRegister event;
  event.job = registration->job;
  event.eval_priority = *priority;
  if (*enforce) event.enforce_index = *index;
  event.preserve_counts = *counts, event.preserve_resources = *resources;
  event.submission = submitted_source(*body, registration->warnings);
  const fsm::Answer answer = simulation.apply(event);
  send_answer(reply, answer, job_answer(answer, model::warnings_text(registration->warnings)));
}

void validate_job(Simulation& simulation, const Request& request, Reply& reply) {  // R-API-222
  const auto body = object_body(request, "JobValidateRequest", reply);
  if (!body || !submitted_job(*body, reply)) return;
  const auto registration = registration_of(simulation, request, *body, true);
  if (!registration) return reply.fail(400, problem_of(registration.error()));
  const std::string& error = registration->error;
  if (!error.empty() && registration->errors.empty()) return reply.fail(error);  // not a validation error
  json::Value out = json::Value::object(), errors;
  out.set("DriverConfigValidated", true);
  for (const std::string& one : registration->errors) errors.push(one);
  out.set("ValidationErrors", std::move(errors)), out.set("Error", error);
  out.set("Warnings", model::warnings_text(registration->warnings));
  reply.json(out);
}

/// A time as RFC 3339 with the zone's offset from UTC at that time.
std::string local_text(base::Time time, const std::string& zone_name) {
  const auto zone = model::TimeZone::load(zone_name);
  const std::int64_t offset_s = zone ? zone->offset_s(time.ns / base::kSecond) : 0;
  std::string out = base::to_rfc3339(base::Time{time.ns + offset_s * base::kSecond});
  if (offset_s == 0) return out;
  const std::int64_t minutes = std::abs(offset_s) / 60;
  out.pop_back();  // the Z
  const auto two_digits = [](std::int64_t number) { return std::to_string(100 + number).substr(1); };
  return out + (offset_s < 0 ? "-" : "+") + two_digits(minutes / 60) + ":" + two_digits(minutes % 60);
}

/// Input of the dry run of a plan, which another thread makes from a snapshot.
struct PlanQuestion {
  tables::SnapshotRef state;
  model::Registration registration;
  std::int64_t now_ns = 0;
  bool diff = false;
};

std::string plan_answer(const PlanQuestion& question) {
  model::ClusterState state = tables::to_cluster(*question.state);
  server::DryRun dry_run(state, question.registration, question.now_ns);
  // Every plan draws different IDs.
  server::DryRunAnswer answer =
      dry_run.answer(base::mix64(static_cast<std::uint64_t>(question.now_ns) ^ question.state->index));
  json::Value out = advice::to_json(answer);
  if (json::Value* annotations = out.find("Annotations")) fill_annotations(*annotations);
  const auto& periodic = question.registration.job->periodic;
  if (periodic && !answer.next_launch.is_zero())
    out.set("NextPeriodicLaunch", local_text(answer.next_launch, periodic->time_zone));
  if (!question.diff) out.set("Diff", nullptr);
  if (out["FailedTGAllocs"].size() == 0) out.set("FailedTGAllocs", nullptr);
  return json::to_text(out);
}

void plan_job(Simulation& simulation, const Request& request, Reply& reply) {  // R-API-223
  const auto body = object_body(request, "JobPlanRequest", reply);
  if (!body) return;
  const json::Value* given = submitted_job(*body, reply);
  if (!given) return;
  const auto diff = Expected{*body, "JobPlanRequest", reply}.boolean("Diff");
  if (!diff) return;
  auto registration = registration_of(simulation, request, *body);
  if (!registration) return reply.fail(400, problem_of(registration.error()));
  const json::Value& id = body_member(*given, "ID");
  if (id.is_null()) return reply.fail(400, "Job must have a valid ID");
  if (id.as_string() != request.captures[0]) return reply.fail(400, "Job ID does not match");
  if (is_elsewhere(*given)) return reply.fail(500, "No path to region");
  if (!registration->error.empty()) return reply.fail(registration->error);
  const model::Job& job = *registration->job;
  const auto stored = simulation.log().job(job.namespace_, job.id);
  reply.index(stored ? stored->job_modify_index : 0);
  const auto question = std::make_shared<PlanQuestion>(
      PlanQuestion{simulation.store().snapshot(), std::move(*registration), simulation.now(), *diff});
  reply.stream(Where::questions, [question](std::string& out) {
    out += plan_answer(*question);
    return false;
  });
}

/// Sorts keys, as Go prints maps (R-HCL-732).
void sort_members(json::Value& value) {
  if (value.is_array()) {
    for (json::Value& item : value.items()) sort_members(item);
  } else if (value.is_object()) {
    json::Object& members = value.members();
    std::sort(members.begin(), members.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
    for (json::Member& member : members) sort_members(member.value);
  }
}

void parse_job(Simulation&, const Request& request, Reply& reply) {  // R-API-220, 221
  const auto body = object_body(request, "JobsParseRequest", reply);
  if (!body) return;
  const auto text = Expected{*body, "JobsParseRequest", reply}.text("JobHCL");
  if (!text) return;
  if (text->empty()) return reply.fail(400, "Job spec is empty");
  const auto variables = Expected{*body, "JobsParseRequest", reply}.text("Variables");
  if (!variables) return;
  const auto canonicalize = Expected{*body, "JobsParseRequest", reply}.boolean("Canonicalize");
  if (!canonicalize) return;
  hcl::ModuleInput input;  // R-HCL-731: no files, no environment, not strict
  input.name = "input.hcl";
  input.text = *text;
  if (!variables->empty()) input.variable_content = *variables;
  input.strict = false;
  auto job = hcl::read_job(std::move(input));
  if (!job) return reply.fail(400, "Failed to parse job: " + job.error());
  if (*canonicalize) hcl::canonicalize(*job);
  sort_members(*job);
  reply.json(*std::move(job));
}

}  // namespace

void add_job_write_routes(Router& router) {
  router.write("/v1/jobs", register_from_body);
  router.write("/v1/job/*", register_from_body);
  router.write("/v1/job/*/plan", plan_job);
  router.add({"/v1/validate/job", kPut | kPost, RouteKind::plain, validate_job, {}});
  router.add({"/v1/jobs/parse", kPut | kPost, RouteKind::plain, parse_job, {}});
}

}  // namespace berth::http
