#include "model/registration/validate_job.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "model/periodic/cron.h"

namespace berth::model {
namespace {

void validate_identity(const Job& job, ErrorList& errors) {
  if (job.region.empty()) errors.add("Missing job region");
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
  else if (job.type == "_core")
    errors.add("Job type cannot be core");
  else if (job.type != "service" && job.type != "batch" && job.type != "system" && job.type != "sysbatch")
    errors.add("Invalid job type: " + base::go_quote(job.type));
  if (job.datacenters.empty()) errors.add("Missing job datacenters");
  if (std::find(job.datacenters.begin(), job.datacenters.end(), "") != job.datacenters.end())
    errors.add("Job datacenter must be non-empty string");
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
  std::map<std::string, std::size_t> first;
  for (std::size_t i = 0; i < job.task_groups.size(); ++i) {
    const TaskGroup& group = job.task_groups[i];
    if (group.name.empty())
      errors.add("Job task group " + std::to_string(i + 1) + " missing name");
    else if (const auto [at, fresh] = first.emplace(group.name, i + 1); !fresh)
      errors.add("Job task group " + std::to_string(i + 1) + " redefines '" + group.name + "' from group " +
                 std::to_string(at->second));
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
  if (periodic.spec.empty() && periodic.specs.empty())
    errors.add("Must specify a spec");
  else if (!periodic.spec.empty() && !periodic.specs.empty())
    errors.add("Only cron or crons may be used");
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
  for (const std::string& key : job.meta_optional)
    if (std::find(job.meta_required.begin(), job.meta_required.end(), key) != job.meta_required.end())
      both.push_back(key);
  std::sort(both.begin(), both.end());
  if (!both.empty())
    errors.add("Required and optional meta keys should be disjoint. Following keys exist in both: [" +
               base::join(both, " ") + "]");
  return errors;
}

bool allows(const json::Value& capabilities, std::string_view enabled, std::string_view disabled,
            const std::string& name) {
  const auto contains = [&](const json::Value& list) {
    return std::any_of(list.items().begin(), list.items().end(),
                       [&](const json::Value& entry) { return entry.as_string() == name; });
  };
  if (contains(capabilities[disabled])) return false;
  return capabilities[enabled].size() == 0 || contains(capabilities[enabled]);
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
  const auto limit = [&](const char* what, const json::Value& block) {
    if (const std::size_t bytes = block["Description"].as_string().size(); bytes > 1000)
      errors.add(what + (" description must be under 1000 characters, currently " + std::to_string(bytes)));
  };
  limit("UI", job.ui);
  limit("Tagged version", job.version_tag);
  return errors;
}

ErrorList validate_limits(const Job& job, const RegistrationLimits& limits) {
  ErrorList errors;
  if (!job.multiregion->is_null()) errors.add("Multiregion jobs are unlicensed");
  if (!job.payload.empty()) errors.add("job can't be submitted with a payload");
  if (job.priority < 1 || job.priority > limits.priority_max)
    errors.add("job priority must be between [1, " + std::to_string(limits.priority_max) + "]");
  std::int64_t total = 0;
  for (const TaskGroup& group : job.task_groups)
    if (__builtin_add_overflow(total, group.count, &total)) total = std::numeric_limits<std::int64_t>::max();
  if (limits.job_count_max > 0 && total > limits.job_count_max)
    errors.add("total count was greater than configured job_max_count: " + std::to_string(total) + " > " +
               std::to_string(limits.job_count_max));
  for (const TaskGroup& group : job.task_groups)
    for (const Task& task : group.tasks) {
      if (task.resources && task.resources->numa && !task.resources->numa->affinity.empty() &&
          task.resources->numa->affinity != "none")
        errors.add("NUMA scheduling requires Nomad Enterprise");
      if (task.schedule.is_object()) errors.add("Task scheduling requires Nomad Enterprise");
    }
  return errors;
}

ErrorList validate_names(const Job& job, const std::vector<Namespace>& namespaces, const std::vector<NodePool>& pools) {
  ErrorList errors;
  const auto space =
      std::find_if(namespaces.begin(), namespaces.end(), [&](const Namespace& n) { return n.name == job.namespace_; });
  if (space == namespaces.end() && job.namespace_ != "default")  // `default` always exists (R-MODEL-32)
    errors.add("job " + base::go_quote(job.id) + " is in nonexistent namespace " + base::go_quote(job.namespace_));
  const bool built_in = job.node_pool == "default" || job.node_pool == "all";
  if (!built_in &&
      std::none_of(pools.begin(), pools.end(), [&](const NodePool& pool) { return pool.name == job.node_pool; }))
    errors.add("job " + base::go_quote(job.id) + " is in nonexistent node pool " + base::go_quote(*job.node_pool));
  if (space == namespaces.end() || !space->capabilities.is_object()) return errors;
  std::vector<std::string> drivers, modes;
  const auto keep = [](std::vector<std::string>& list, const std::string& name) {
    if (std::find(list.begin(), list.end(), name) == list.end()) list.push_back(name);
  };
  for (const TaskGroup& group : job.task_groups) {
    for (const NetworkResource& network : group.networks) {
      const std::string mode = network.mode.empty() ? "host" : network.mode;
      if (!allows(space->capabilities, "EnabledNetworkModes", "DisabledNetworkModes", mode)) keep(modes, mode);
    }
    for (const Task& task : group.tasks)
      if (!allows(space->capabilities, "EnabledTaskDrivers", "DisabledTaskDrivers", task.driver))
        keep(drivers, task.driver);
  }
  for (const std::string& driver : drivers)
    errors.add("used task driver " + base::go_quote(driver) + " is not allowed in namespace " +
               base::go_quote(job.namespace_));
  for (const std::string& mode : modes)
    errors.add("used group network mode " + base::go_quote(mode) + " is not allowed in namespace " +
               base::go_quote(job.namespace_));
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
