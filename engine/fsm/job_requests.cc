// Job requests (R-CTRL-210 to 215, 1101 to 1110).
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <snappy.h>

#include <algorithm>

#include "base/base64.h"
#include "fsm/requests.h"
#include "model/job.h"
#include "model/names.h"
#include "model/predicates.h"
#include "model/registration/error_list.h"
#include "model/registration/job_canonical.h"
#include "model/registration/register_job.h"
#include "model/registration/validate_job.h"
#include "model/update/spec_changed.h"

namespace berth::fsm {

namespace {

Answer refused(std::string why) {
  Answer answer;
  answer.error = std::move(why);
  return answer;
}

bool evaluates(const model::Job& job) { return !model::is_periodic(job) && !model::is_parameterized(job); }

constexpr const char* kBadScaling = "RPC Error:: 400,";

/// The reason why the request is malformed for any job; "" if it is not (R-API-262).
std::string malformed_scaling(const ScaleJob& request) {
  if (request.group.empty()) return std::string(kBadScaling) + "missing task group name for scaling action";
  if (request.count.value_or(0) < 0) return std::string(kBadScaling) + "scaling action count can't be negative";
  if (request.error && request.count)
    return std::string(kBadScaling) + "scaling action should not contain count if error is true";
  return "";
}

/// The reason why the group cannot have this count; "" if it can (R-CTRL-1108, R-API-262).
std::string scaling_problem(const model::Job& job, const ScaleJob& request) {
  const auto bad = [](const std::string& why) { return kBadScaling + why; };
  if (job.type == "system" && request.count.value_or(0) > 1)
    return bad("jobs of type \"system\" can only be scaled between 0 and 1");
  const model::TaskGroup* group = job.group(request.group);
  if (!group) return bad(fmt::format("task group \"{}\" specified for scaling does not exist in job", request.group));
  if (!request.count) return "";
  const std::int64_t count = *request.count;
  if (const auto& policy = group->scaling; policy && count < policy->min)
    return bad(fmt::format("group count was less than scaling policy minimum: {} < {}", count, policy->min));
  if (const auto& policy = group->scaling; policy && count > policy->max)
    return bad(fmt::format("group count was greater than scaling policy maximum: {} > {}", count, policy->max));
  std::uint64_t total = static_cast<std::uint64_t>(count);  // other counts are at most 10,000,000: no overflow
  for (const model::TaskGroup& other : job.task_groups)
    if (other.name != request.group) total += static_cast<std::uint64_t>(other.count);
  if (total > Requests::kJobCountMax)
    return fmt::format("total count was greater than configured job_max_count: {} > {}", total, Requests::kJobCountMax);
  return "";
}

/// The reason why the parent refuses this dispatch; "" if it does not (R-CTRL-1110).
std::string dispatch_problem(const model::ParameterizedJob& rules, const DispatchJob& request) {
  if (rules.payload == "required" && request.payload.empty())
    return "Payload is not provided but required by parameterized job";
  if (rules.payload == "forbidden" && !request.payload.empty())
    return "Payload provided but forbidden by parameterized job";
  const auto listed = [](const std::vector<std::string>& list, const std::string& key) {
    return std::find(list.begin(), list.end(), key) != list.end();
  };
  std::vector<std::string> keys;
  for (const auto& [key, value] : request.meta)
    if (!listed(rules.meta_required, key) && !listed(rules.meta_optional, key)) keys.push_back(key);
  if (!keys.empty())
    return fmt::format("Dispatch request included unpermitted metadata keys: [{}]", fmt::join(keys, " "));
  for (const std::string& key : rules.meta_required)
    if (!request.meta.contains(key)) keys.push_back(key);
  if (!keys.empty()) return fmt::format("Dispatch did not provide required meta keys: [{}]", fmt::join(keys, " "));
  if (request.priority != 0 && (request.priority < 1 || request.priority > 100))
    return "dispatch job priority must be between [1, 100]";
  return "";
}

}  // namespace

Answer Requests::register_job(const RegisterJob& request, std::int64_t now) {
  Answer answer;
  const model::Job& job = *request.job;
  const auto stored = log_.job(job.namespace_, job.id);
  if (request.enforce_index) {
    answer.error = model::check_enforced_index(stored.get(), *request.enforce_index);
    if (!answer.error.empty()) return answer;
  }
  if (stored) {
    if (const model::ErrorList errors = model::validate_update(stored.get(), job); !errors.empty()) {
      answer.error = errors.items().size() == 1 ? errors.items().front() : errors.text();
      return answer;
    }
  }
  std::optional<model::Evaluation> eval;
  if (evaluates(job)) {  // R-CTRL-1103
    eval = new_eval(job, "job-register", now);
    if (request.eval_priority > 0) eval->priority = request.eval_priority;  // R-CTRL-210
    answer.eval_id = eval->id;                                              // set even if the entry fails
  }
  auto submitted = std::make_shared<model::Job>(job);
  if (has_scaling(job)) fill_policy_ids(stored.get(), next_id_, *submitted);
  if (!stored || model::spec_changed(*stored, *submitted)) {  // R-REG-430
    model::canonicalize(*submitted);                          // as when a job entry is applied (R-REG-7)
    submitted->submit_time = now;
    JobRegisterEntry entry;
    entry.job = std::move(submitted);
    entry.eval = eval;
    entry.enforce_index = request.enforce_index;
    entry.preserve_counts = request.preserve_counts;
    entry.preserve_resources = request.preserve_resources;
    entry.submission = request.submission;
    write(answer, "job_register", entry);
    if (!answer.error.empty()) return answer;
    answer.job_modify_index = answer.index;
    answer.eval_create_index = eval ? answer.index : 0;
  } else {  // R-CTRL-1102
    answer.job_modify_index = stored->modify_index;
    answer.index = stored->modify_index;
    if (eval) {
      write(answer, "eval_update", std::vector<model::Evaluation>{*eval});
      answer.eval_create_index = answer.index;
    }
  }
  return answer;
}

Answer Requests::deregister_job(const DeregisterJob& request, std::int64_t now) {
  Answer answer;
  const auto stored = log_.job(request.name_space, request.job_id);
  if (!stored) return answer;  // R-CTRL-1105
  JobDeregisterEntry entry;
  entry.name_space = request.name_space;
  entry.job_id = request.job_id;
  entry.purge = request.purge;
  entry.no_shutdown_delay = request.no_shutdown_delay;
  entry.submit_time = now;
  if (evaluates(*stored)) {
    entry.eval = new_eval(*stored, "job-deregister", now);
    if (log_.quirks().deregistration_is_service) entry.eval->type = "service";  // R-CTRL-211, for any job type
    if (request.eval_priority > 0) entry.eval->priority = request.eval_priority;
    if (entry.eval->priority <= 0) entry.eval->priority = 50;
  }
  write(answer, "job_deregister", entry);
  answer.job_modify_index = answer.index;
  answer.eval_create_index = answer.index;  // set even without an evaluation
  if (entry.eval) answer.eval_id = entry.eval->id;
  return answer;
}

Answer Requests::evaluate_job(const std::string& name_space, const std::string& job_id, bool force_reschedule,
                              std::int64_t now) {
  const auto job = log_.job(name_space, job_id);
  if (!job) return refused("job not found");
  if (model::is_periodic(*job)) return refused("can't evaluate periodic job");
  if (model::is_parameterized(*job)) return refused("can't evaluate parameterized job");
  TransitionEntry entry;
  if (force_reschedule) {
    for (const model::Allocation& alloc : log_.allocs_of(name_space, job_id)) {
      if (alloc.client_status != "failed" || !alloc.next_allocation.empty()) continue;
      if (alloc.desired_transition.force_reschedule.value_or(false)) continue;
      const model::TaskGroup* group = job->group(alloc.task_group);
      if (!group || !group->reschedule_policy || !group->reschedule_policy->enabled()) continue;
      model::DesiredTransition forced;
      forced.force_reschedule = true;
      entry.allocs.emplace_back(alloc.id, forced);
    }
  }
  Answer answer;
  model::Evaluation eval = new_eval(*job, "job-register", now);  // R-CTRL-212
  eval.job_modify_index = job->modify_index;
  answer.eval_id = eval.id;
  entry.evals.push_back(std::move(eval));
  write(answer, "alloc_transition", entry);
  answer.eval_create_index = answer.index;
  answer.job_modify_index = job->modify_index;
  return answer;
}

Answer Requests::scale_job(const ScaleJob& request, std::int64_t now) {
  if (std::string problem = malformed_scaling(request); !problem.empty()) return refused(std::move(problem));
  const auto stored = log_.job(request.name_space, request.job_id);
  if (!stored) return refused(fmt::format("RPC Error:: 404,job \"{}\" not found", request.job_id));
  if (std::string problem = scaling_problem(*stored, request); !problem.empty()) return refused(std::move(problem));
  ScalingEventEntry event{request.name_space, request.job_id, request.group, {}};
  event.event = {
      now, request.count, stored->group(request.group)->count, request.message, request.error, request.meta, "", 0};
  Answer answer;
  answer.job_modify_index = stored->modify_index;
  if (request.count) {
    const auto deployment = log_.latest_deployment(request.name_space, request.job_id);
    if (deployment && model::is_active_deployment(deployment->status))
      return refused(std::string(kBadScaling) + "job scaling blocked due to active deployment");
    auto scaled = std::make_shared<model::Job>(model::untagged(*stored));
    for (model::TaskGroup& group : scaled->task_groups)
      if (group.name == request.group) group.count = *request.count;
    scaled->submit_time = now;
    JobRegisterEntry entry;
    entry.job = scaled;
    if (request.enforce_index > 0) entry.enforce_index = request.enforce_index;
    write(answer, "job_register", entry);
    if (!answer.error.empty()) return answer;
    answer.job_modify_index = answer.index;
    if (evaluates(*stored)) {
      model::Evaluation eval = new_eval(*stored, "job-scaling", now);  // R-CTRL-213
      eval.job_modify_index = answer.job_modify_index;
      answer.eval_id = event.event.eval_id = eval.id;
      write(answer, "eval_update", std::vector<model::Evaluation>{std::move(eval)});
      answer.eval_create_index = answer.index;
    }
  }
  write(answer, "scaling_event", event);
  return answer;
}

Answer Requests::revert_job(const RevertJob& request, std::int64_t now) {
  const JobRecord* record = log_.record(request.name_space, request.job_id);
  if (!record || !record->current) return refused(fmt::format("job \"{}\" not found", request.job_id));
  const std::uint64_t current = record->current->version;
  if (current == request.version) return refused("can't revert to current version");
  const auto found = std::find_if(record->versions.begin(), record->versions.end(),
                                  [&](const auto& stored) { return stored->version == request.version; });
  if (found == record->versions.end())
    return refused(fmt::format("job \"{}\" in namespace \"{}\" at version {} not found", request.job_id,
                               request.name_space, request.version));
  if (request.enforce_version && *request.enforce_version != current)
    return refused(fmt::format("Current job has version {}; enforcing version {}", current, *request.enforce_version));
  auto job = std::make_shared<model::Job>(model::untagged(**found));
  job->stable = false;
  if (std::string problem = model::submit_again(*job); !problem.empty()) return refused(std::move(problem));
  RegisterJob registration;
  registration.job = std::move(job);
  if (const Submission* source = submission_of(*record, request.version)) registration.submission = *source;
  return register_job(registration, now);
}

Answer Requests::dispatch_job(const DispatchJob& request, std::int64_t now) {
  const auto parent = log_.job(request.name_space, request.job_id);
  if (!parent) return refused("parameterized job not found");
  if (!model::is_parameterized(*parent))
    return refused(fmt::format("Specified job \"{}\" is not a parameterized job", request.job_id));
  if (parent->stop) return refused(fmt::format("Specified job \"{}\" is stopped", request.job_id));
  if (std::string problem = dispatch_problem(*parent->parameterized_job, request); !problem.empty())
    return refused(std::move(problem));
  Answer answer;
  if (!request.idempotency_token.empty())
    if (const auto known = log_.dispatched(*parent, request.idempotency_token)) {
      answer.dispatched_job_id = known->id;
      answer.job_modify_index = known->create_index;
      answer.index = known->modify_index;
      return answer;
    }
  auto child = std::make_shared<model::Job>(model::untagged(*parent));
  child->id = child->name =
      model::dispatched_job_id(parent->id, request.id_prefix, now / base::kSecond, next_id_().substr(0, 8));
  child->parent_id = parent->id;
  child->dispatched = true;
  child->dispatch_idempotency_token = request.idempotency_token;
  child->status.clear();
  child->status_description.clear();
  child->submit_time = now;
  if (request.priority != 0) child->priority = request.priority;
  for (const auto& [key, value] : request.meta) child->meta[key] = value;
  std::string compressed;
  snappy::Compress(request.payload.data(), request.payload.size(), &compressed);
  child->payload = base::to_base64(compressed);
  JobRegisterEntry entry;
  if (evaluates(*child)) {
    entry.eval = new_eval(*child, "job-register", now);  // R-CTRL-214
    answer.eval_id = entry.eval->id;
  }
  entry.job = child;
  answer.dispatched_job_id = child->id;
  write(answer, "job_register", entry);
  answer.job_modify_index = answer.index;
  if (entry.eval) answer.eval_create_index = answer.index;
  return answer;
}

Answer Requests::force_periodic(const std::string& name_space, const std::string& job_id) const {
  const auto job = log_.job(name_space, job_id);
  if (!job) return refused("job not found");
  if (!model::is_periodic(*job)) return refused("can't force launch non-periodic job");
  return refused(fmt::format("force launch for job \"{}\" failed: periodic dispatch disabled", job_id));
}

}  // namespace berth::fsm
