#include "model/registration/validate_job.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/json.h"
#include "base/text.h"
#include "model/job.h"
#include "model/periodic/cron.h"

namespace berth::model {
namespace {

void validate_identity(const Job& job, ErrorList& errors) {
  if (job.region->empty() && job.multiregion->is_null()) errors.add("Missing job region");
  if (job.id.empty())
    errors.add("Missing job ID");
  else if (job.id.find(' ') != std::string::npos)
    errors.add("Job ID contains a space");
  else if (has_nul(job.id))
    errors.add("Job ID contains a null character");
  if (job.name.empty())
    errors.add("Missing job name");
  else if (has_nul(job.name))
    errors.add("Job Name contains a null character");
  if (job.namespace_.empty()) errors.add("Job must be in a namespace");
  if (job.type.empty())
    errors.add("Missing job type");
  else if (job.type != "_core" && job.type != "service" && job.type != "batch" && job.type != "system" &&
           job.type != "sysbatch")
    errors.add("Invalid job type: " + base::go_quote(job.type));
  if (job.datacenters.empty()) errors.add("Missing job datacenters");
  for (const std::string& datacenter : job.datacenters)
    if (datacenter.empty()) errors.add("Job datacenter must be non-empty string");
}

void validate_groups(const Job& job, const EmptyContainers& empty, ErrorList& errors) {
  if (job.task_groups.empty()) errors.add("Missing job task groups");
  validate_constraints(job.constraints, errors);
  if (job.type == "system") {
    if (!job.affinities.empty() || empty.contains("/Affinities"))
      errors.add("System jobs may not have an affinity block");
    if (!job.spreads.empty() || empty.contains("/Spreads")) errors.add("System jobs may not have a spread block");
  } else {
    validate_affinities(job.affinities, errors);
    validate_spreads(job.spreads, errors);
  }
  const auto limit = [&](const char* what, const json::Value& block) {
    if (const std::size_t bytes = block["Description"].as_string().size(); bytes > 1000)
      errors.add(what + (" description must be under 1000 characters, currently " + std::to_string(bytes)));
  };
  limit("UI", job.ui);
  limit("Tagged version", job.version_tag);
  std::map<std::string, std::size_t> first;
  for (std::size_t i = 0; i < job.task_groups.size(); ++i) {
    const TaskGroup& group = job.task_groups[i];
    if (group.name.empty())
      errors.add("Job task group " + std::to_string(i + 1) + " missing name");
    else if (const auto [at, fresh] = first.emplace(group.name, i + 1); !fresh)
      errors.add("Job task group " + std::to_string(i + 1) + " redefines '" + group.name + "' from group " +
                 std::to_string(at->second));
    if (group.shutdown_delay.value_or(0) < 0) errors.add("ShutdownDelay must be a positive value");
    if (job.type == "system" && group.count > 1)
      errors.add("Job task group " + group.name + " has count " + std::to_string(group.count) +
                 ". Count cannot exceed 1 with system scheduler");
  }
  for (std::size_t i = 0; i < job.task_groups.size(); ++i)
    errors.add_nested("Task group " + job.task_groups[i].name + " validation failed: ",
                      validate_group(job, job.task_groups[i], "/TaskGroups/" + std::to_string(i), empty));
}

ErrorList validate_periodic(const PeriodicConfig& periodic) {
  ErrorList errors;
  if (!periodic.enabled) return errors;
  if (!periodic.spec.empty() && !periodic.specs.empty()) errors.add("Only cron or crons may be used");
  if (periodic.spec.empty() && periodic.specs.empty()) errors.add("Must specify a spec");
  if (!is_time_zone(periodic.time_zone))
    errors.add("Invalid time zone " + base::go_quote(periodic.time_zone) + ": unknown time zone " + periodic.time_zone);
  if (periodic.spec_type == "cron") {
    std::vector<std::string> specs = periodic.specs;
    if (!periodic.spec.empty()) specs.insert(specs.begin(), periodic.spec);
    for (const std::string& spec : specs)
      if (const auto cron = parse_cron(spec); !cron)
        errors.add("Invalid cron spec " + base::go_quote(spec) + ": " + cron.error());
  } else if (periodic.spec_type != "test") {
    errors.add("Unknown periodic specification type " + base::go_quote(periodic.spec_type));
  }
  return errors;
}

ErrorList validate_parameterized(const ParameterizedJob& job) {
  ErrorList errors;
  if (job.payload != "optional" && job.payload != "required" && job.payload != "forbidden")
    errors.add("Unknown payload requirement: " + base::go_quote(job.payload));
  std::vector<std::string> both;
  const std::set<std::string_view> required(job.meta_required.begin(), job.meta_required.end());
  for (const std::string& key : job.meta_optional)
    if (required.contains(key)) both.push_back(key);
  std::sort(both.begin(), both.end());
  if (!both.empty())
    errors.add("Required and optional meta keys should be disjoint. Following keys exist in both: [" +
               base::join(both, " ") + "]");
  return errors;
}

}  // namespace

ErrorList validate(const Job& job, const EmptyContainers& empty) {
  ErrorList errors;
  validate_identity(job, errors);
  validate_groups(job, empty, errors);
  const bool batch = job.type == "batch" || job.type == "sysbatch";
  if (job.periodic && job.periodic->enabled) {
    if (!batch) errors.add("Periodic can only be used with \"batch\" or \"sysbatch\" scheduler");
    errors.add_nested("", validate_periodic(*job.periodic));
  }
  if (job.parameterized_job) {
    if (!batch) errors.add("Parameterized job can only be used with \"batch\" or \"sysbatch\" scheduler");
    errors.add_nested("", validate_parameterized(*job.parameterized_job));
  }
  if ((*job.multiregion)["Regions"].size() > 0) errors.add("Multiregion jobs are unlicensed.");
  return errors;
}

ErrorList validate_update(const Job* stored, const Job& submitted) {
  ErrorList errors;
  if (!stored) {
    if (submitted.dispatched) errors.add("job can't be submitted with 'Dispatched' set");
    return errors;
  }
  const auto periodic = [](const Job& job) { return job.periodic.has_value(); };
  const auto parameterized = [](const Job& job) { return job.parameterized_job.has_value() && !job.dispatched; };
  if (stored->type != submitted.type)
    errors.add("cannot update job from type " + base::go_quote(stored->type) + " to " + base::go_quote(submitted.type));
  if (periodic(*stored) && !periodic(submitted)) errors.add("cannot update periodic job to being non-periodic");
  if (!periodic(*stored) && periodic(submitted)) errors.add("cannot update non-periodic job to being periodic");
  if (parameterized(*stored) && !parameterized(submitted))
    errors.add("cannot update parameterized job to being non-parameterized");
  if (!parameterized(*stored) && parameterized(submitted))
    errors.add("cannot update non-parameterized job to being parameterized");
  if (stored->dispatched != submitted.dispatched) errors.add("field 'Dispatched' is read-only");
  return errors;
}

}  // namespace berth::model
