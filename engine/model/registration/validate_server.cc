// Rules about a job that depend on the server's settings, namespaces and node pools (R-REG-300 to 303, 311, 340, 341).
#include <algorithm>
#include <limits>

#include "base/text.h"
#include "model/job.h"
#include "model/registration/blocks.h"
#include "model/registration/validate_job.h"

namespace berth::model {
namespace {

using base::go_quote;

bool allows(const json::Value& capabilities, std::string_view enabled, std::string_view disabled,
            const std::string& name) {
  const auto contains = [&](const json::Value& list) {
    return std::any_of(list.items().begin(), list.items().end(),
                       [&](const json::Value& entry) { return entry.as_string() == name; });
  };
  if (contains(capabilities[disabled])) return false;
  return capabilities[enabled].size() == 0 || contains(capabilities[enabled]);
}

constexpr const char* kOtherConsul = "non-default Consul cluster requires Nomad Enterprise";

bool on_other_consul(const json::Value& block) {
  return block.is_object() && !is_default_cluster(text_at(block, "Cluster"));
}
bool services_on_other_consul(const json::Value& services) {
  return std::any_of(services.items().begin(), services.items().end(), [](const json::Value& service) {
    return is_provider(service, "consul") && on_other_consul(service);
  });
}

/// Services whose identity has no name (R-REG-340), and Vault clusters without identity (R-REG-341).
void validate_identity_names(const TaskGroup& group, ErrorList& errors) {
  const auto nameless = [&](const json::Value& services, const std::string& where) {
    for (const json::Value& service : services.items())
      if (service["Identity"].is_object() && text_at(service["Identity"], "Name").empty())
        errors.add("Service " + text_at(service, "Name") + " in " + where + " has an identity with an empty name");
  };
  nameless(group.services, "task group " + group.name);
  for (const Task& task : group.tasks) {
    nameless(task.services, "task " + task.name);
    const std::string& cluster = text_at(task.vault, "Cluster");
    if (!task.vault.is_object() || is_default_cluster(cluster)) continue;
    const std::string wanted = "vault_" + cluster;
    const json::Array& identities = task.identities.items();
    if (std::none_of(identities.begin(), identities.end(),
                     [&](const json::Value& identity) { return text_at(identity, "Name") == wanted; }))
      errors.add("Task " + task.name + " uses Vault cluster " + cluster + " but does not have an identity named " +
                 wanted + " and no default identity is provided in agent configuration");
  }
}

/// `one thing "a"` or `things ["a" "b"]` for the names that are not allowed.
std::string not_allowed(const std::string& what, const std::vector<std::string>& names, const std::string& space) {
  if (names.empty()) return "";
  std::vector<std::string> quoted;
  for (const std::string& name : names) quoted.push_back(go_quote(name));
  const std::string end = " not allowed in namespace " + go_quote(space);
  if (names.size() == 1) return "used " + what + " " + quoted.front() + " is" + end;
  return "used " + what + "s [" + base::join(quoted, " ") + "] are" + end;
}

}  // namespace

ErrorList validate_limits(const Job& job, const RegistrationLimits& limits) {
  ErrorList errors;
  if (job.type == "_core") errors.add("job type cannot be core");
  if (!job.payload->empty()) errors.add("job can't be submitted with a payload, only dispatched");
  if (job.priority < 1 || job.priority > limits.priority_max)
    errors.add("job priority must be between [1, " + std::to_string(limits.priority_max) + "]");
  for (const TaskGroup& group : job.task_groups) validate_identity_names(group, errors);
  std::int64_t total = 0;
  for (const TaskGroup& group : job.task_groups)
    if (__builtin_add_overflow(total, group.count, &total)) total = std::numeric_limits<std::int64_t>::max();
  if (limits.job_count_max > 0 && total > limits.job_count_max)
    errors.add("total count was greater than configured job_max_count: " + std::to_string(total) + " > " +
               std::to_string(limits.job_count_max));
  return errors;
}

std::string validate_vault(const Job& job, const RegistrationLimits& limits) {
  std::vector<std::string> spaces;
  for (const TaskGroup& group : job.task_groups)
    for (const Task& task : group.tasks) {
      if (!task.vault.is_object()) continue;
      const std::string& cluster = text_at(task.vault, "Cluster");
      if (!limits.vault || !is_default_cluster(cluster))
        return "Vault " + go_quote(cluster) + " not enabled but used in the job";
      if (const std::string& space = text_at(task.vault, "Namespace"); !space.empty()) spaces.push_back(space);
    }
  std::sort(spaces.begin(), spaces.end());
  spaces.erase(std::unique(spaces.begin(), spaces.end()), spaces.end());
  if (!spaces.empty())
    return "multiple Vault namespaces requires Nomad Enterprise, Namespaces: " + base::join(spaces, ", ");
  return "";
}

std::string validate_consul(const Job& job) {
  for (const TaskGroup& group : job.task_groups) {
    if (on_other_consul(group.consul) || services_on_other_consul(group.services)) return kOtherConsul;
    for (const Task& task : group.tasks) {
      if (services_on_other_consul(task.services)) return kOtherConsul;
      const std::string &own = text_at(task.consul, "Partition"), &of_group = text_at(group.consul, "Partition");
      if (!own.empty() && !of_group.empty() && own != of_group)
        return "task.consul.partition " + go_quote(own) + " must match group.consul.partition " + go_quote(of_group) +
               " if both are set";
      if (on_other_consul(task.consul)) return kOtherConsul;
    }
  }
  return "";
}

std::string validate_namespace(const Job& job, const std::vector<Namespace>& namespaces) {
  const auto space =
      std::find_if(namespaces.begin(), namespaces.end(), [&](const Namespace& n) { return n.name == job.namespace_; });
  if (space == namespaces.end())  // `default` always exists (R-MODEL-32)
    return job.namespace_ == "default"
               ? ""
               : "job " + go_quote(job.id) + " is in nonexistent namespace " + go_quote(job.namespace_);
  if (!space->capabilities.is_object()) return "";
  std::vector<std::string> drivers, modes;
  for (const TaskGroup& group : job.task_groups) {
    for (const Task& task : group.tasks)
      if (!allows(space->capabilities, "EnabledTaskDrivers", "DisabledTaskDrivers", task.driver))
        drivers.push_back(task.driver);
    for (const NetworkResource& network : group.networks) {
      const std::string mode = network.mode.empty() ? "host" : network.mode;
      if (!allows(space->capabilities, "EnabledNetworkModes", "DisabledNetworkModes", mode)) modes.push_back(mode);
    }
  }
  std::string problem = not_allowed("task driver", drivers, job.namespace_);
  return problem.empty() ? not_allowed("group network mode", modes, job.namespace_) : problem;
}

std::string validate_pool(const Job& job, const std::vector<NodePool>& pools) {
  const bool known =
      job.node_pool == "default" || job.node_pool == "all" ||
      std::any_of(pools.begin(), pools.end(), [&](const NodePool& pool) { return pool.name == job.node_pool; });
  return known ? "" : "job " + go_quote(job.id) + " is in nonexistent node pool " + go_quote(*job.node_pool);
}

std::string validate_numa(const Job& job) {
  for (const TaskGroup& group : job.task_groups)
    for (const Task& task : group.tasks)
      if (task.resources && task.resources->numa && !task.resources->numa->affinity.empty() &&
          task.resources->numa->affinity != "none")
        return "numa scheduling requires Nomad Enterprise";
  return "";
}

std::string validate_schedule(const Job& job) {
  for (const TaskGroup& group : job.task_groups)
    for (const Task& task : group.tasks)
      if (task.schedule.is_object()) return "task schedules requires Nomad Enterprise";
  return "";
}

}  // namespace berth::model
