#include "model/registration/register_job.h"

#include "base/random.h"
#include "model/codec/api_blocks.h"
#include "model/codec/api_defaults.h"
#include "model/codec/api_keys.h"
#include "model/codec/codec.h"
#include "model/gang.h"
#include "model/job.h"
#include "model/predicates.h"
#include "model/registration/job_canonical.h"

namespace berth::model {
namespace {

/// Returns an error if the counts of a job that may not have been validated are too large to carry out.
std::optional<InputError> uncountable(const Job& job, const std::string& path, const std::string& place) {
  for (std::size_t g = 0; g < job.task_groups.size(); ++g) {
    const TaskGroup& group = job.task_groups[g];
    std::string problem = group.count < 0 ? "a count of " + std::to_string(group.count) : count_problem(group);
    if (!problem.empty())
      return InputError{path, place + "/TaskGroups/" + std::to_string(g), std::move(problem),
                        "a count is from 0 to " + std::to_string(kCountMax)};
  }
  return std::nullopt;
}

/// R-MODEL-233: checked before the server layer processes the job.
std::string api_refusal(const Job& job) {
  if (job.type != "system") return "";
  for (const TaskGroup& group : job.task_groups)
    if (group.scaling) return "Task groups with job type system do not support scaling blocks";
  return "";
}

/// Applies registration to the job in place (R-REG-2). Returns Nomad's error text, or "".
std::string mutate(Job& job, const RegistrationRequest& request) {
  canonicalize(job);
  if (job.priority == 0) job.priority = 50;
  fill_clusters(job);
  base::Random draws(1, job.namespace_ + "/" + job.id);  // equal jobs get equal IDs
  const std::function<std::string()> own_id = [&] {
    const std::uint64_t hi = draws.next();
    return base::to_text(base::Uuid{hi, draws.next()});
  };
  const auto& new_id = request.new_id ? request.new_id : own_id;
  if (const std::string problem = expand_connect(job, new_id); !problem.empty())
    return "error in job mutator connect: " + problem;
  if (const std::string problem = expand_exposed_checks(job); !problem.empty())
    return "error in job mutator expose-check: " + problem;
  add_implied_constraints(job, request.options.quirks);
  if (job.node_pool->empty()) job.node_pool = "default";
  add_identities(job, request.limits.vault ? request.limits.vault_identity : json::Retained());
  return "";
}

/// All validators in Nomad's order (R-REG-4).
ErrorList validate_all(const Job& job, const RegistrationRequest& request) {
  ErrorList errors;
  const auto first = [&](std::string problem) {
    if (!problem.empty()) errors.add(std::move(problem));
  };
  first(validate_connect(job));
  first(validate_exposed_checks(job));
  first(validate_vault(job, request.limits));
  first(validate_consul(job));
  if (request.namespaces) first(validate_namespace(job, *request.namespaces));
  if (request.pools) first(validate_pool(job, *request.pools));
  errors.append(validate(job));
  errors.append(validate_limits(job, request.limits));
  first(validate_numa(job));
  first(validate_schedule(job));
  if (const auto gang = parse_gang(job.meta, job.type); !gang)
    first(gang.error().problem + ": " + gang.error().remedy);  // Berth's own
  return errors;
}

}  // namespace

bool is_registered_form(const json::Value& job) {
  for (const char* key : {"Version", "JobModifyIndex", "CreateIndex"}) {
    const json::Value* value = job.find_ignoring_case(key);
    if (!value || value->is_null()) return false;
  }
  const json::Value& index = *job.find_ignoring_case("JobModifyIndex");
  return index.is_uint64() || index.as_int() > 0;
}

std::string initial_status(const Job& job) {
  const bool parameterized = job.parameterized_job.has_value() && !job.dispatched;
  if (job.type == "system" || job.periodic || parameterized) return job.stop ? "dead" : "running";
  return job.stop ? "dead" : "pending";
}

std::string submit_again(Job& job, const RegistrationRequest& request) { return mutate(job, request); }

Result<Registration> register_job(const json::Value& input, const RegistrationRequest& request) {
  const json::Value* wrapped = input.find_ignoring_case("Job");
  const json::Value& given = wrapped ? *wrapped : input;
  const std::string place = wrapped ? "/Job" : "";
  if (!given.is_object())
    return tl::unexpected(InputError{request.path, place, std::string("expected a job, got ") + given.kind(),
                                     "write {\"Job\": {...}} as `nomad job run -output` does"});
  Registration out;
  out.options = request.options;
  out.registered_form = !request.over_http && is_registered_form(given);
  out.job = std::make_shared<Job>();
  Job& job = *out.job;
  ReadOptions read;
  read.path = request.path;
  read.place = place;
  read.ignore_case = true;
  if (out.registered_form) {
    if (auto done = from_json(given, job, read); !done) return tl::unexpected(done.error());
    if (request.options.legacy_disconnect_fields)
      if (out.error = take_legacy_disconnect_fields(job); !out.error.empty()) {
        out.job.reset();
        return out;
      }
    canonicalize(job);
    fill_server_defaults(job);
    if (auto problem = uncountable(job, request.path, place)) return tl::unexpected(std::move(*problem));
    out.creates_eval = !job.periodic && (!job.parameterized_job || job.dispatched);
    return out;
  }

  auto api = normalise_job_keys(given, request.path, place);
  if (!api) return tl::unexpected(api.error());
  if (std::string problem = mount_problem(*api); !problem.empty())  // Nomad's request handler crashes
    return tl::unexpected(InputError{request.path, place, std::move(problem), "name the mount's destination"});
  // The defaults drop the older fields and fill the block that replaces them (R-SEED-70).
  const json::Value groups_given = request.options.legacy_disconnect_fields ? (*api)["TaskGroups"] : json::Value();
  fill_api_defaults(*api);
  if (groups_given.is_array())
    for (std::size_t g = 0; g < groups_given.items().size(); ++g)
      for (const char* key : {"StopAfterClientDisconnect", "MaxClientDisconnect", "PreventRescheduleOnLost"})
        if (const json::Value* value = groups_given.items()[g].find(key))
          api->find("TaskGroups")->items()[g].set(key, *value);
  if (auto done = from_json(*api, job, read); !done) return tl::unexpected(done.error());
  job.dispatched = false;  // read-only for clients, as the rest of these (R-MODEL-622)
  job.dispatch_idempotency_token.clear(), job.nomad_token_id.clear();
  job.parent_id.clear(), job.status.clear(), job.status_description.clear();
  job.stable = false;
  job.submit_time = 0;
  job.create_index = job.modify_index = job.job_modify_index = 0;
  for (TaskGroup& group : job.task_groups) {  // IDs and indexes of scaling policies are the server's (R-REG-432, 460)
    const auto own = [](auto& policy) {
      for (const char* key : {"ID", "CreateIndex", "ModifyIndex"}) policy.erase(key);
    };
    if (group.scaling) own(group.scaling->extra);
    for (Task& task : group.tasks)
      if (task.scaling_policies.is_array())
        for (json::Value& policy : task.scaling_policies.items()) own(policy);
  }
  if (!request.name_space.empty()) job.namespace_ = request.name_space;
  if (!request.region.empty()) job.region = request.region;
  if (job.region.empty() || job.region == "global") job.region = request.limits.region;

  const auto reject = [&](std::string text) {
    out.error = std::move(text);
    out.job.reset();
    return out;
  };
  if (request.limits.reject_jobs) return reject("job registration, dispatch, and scale are disabled by the scheduler");
  if (std::string refusal = api_refusal(job); !refusal.empty()) return reject(std::move(refusal));
  if (request.options.legacy_disconnect_fields) {
    for (std::size_t g = 0; g < job.task_groups.size(); ++g)
      if (job.task_groups[g].disconnect && groups_given.items()[g]["Disconnect"]["Replace"].is_null())
        job.task_groups[g].disconnect->replace.reset();
    if (std::string refusal = take_legacy_disconnect_fields(job); !refusal.empty()) return reject(std::move(refusal));
  }
  if (std::string problem = mutate(job, request); !problem.empty()) return reject(std::move(problem));
  const ErrorList errors = validate_all(job, request);
  if (!errors.empty()) {
    out.errors = errors.items();
    return reject(errors.text());
  }
  if (const ErrorList refused = validate_update(request.stored, job); !refused.empty())
    return reject(refused.items().size() == 1 ? refused.items().front() : refused.text());
  if (auto problem = uncountable(job, request.path, place)) return tl::unexpected(std::move(*problem));
  out.warnings = job_warnings(job, request.limits);
  job.status = initial_status(job);
  out.creates_eval = !job.periodic && (!job.parameterized_job || job.dispatched);
  return out;
}

}  // namespace berth::model
