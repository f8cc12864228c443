// What a registration accepts but remarks on (R-REG-400 to 408).
#include <algorithm>
#include <set>

#include "base/text.h"
#include "model/job.h"
#include "model/registration/blocks.h"
#include "model/registration/validate_job.h"

namespace berth::model {
namespace {

using base::go_quote;

ErrorList identity_remarks(const json::Value& identity) {  // R-REG-404
  ErrorList out;
  const std::string& name = text_at(identity, "Name");
  const std::size_t audience = identity["Audience"].size();
  if (audience == 0) out.add("identities without an audience are insecure");
  if (audience > 1) out.add("while multiple audiences is allowed, it is more secure to use 1 audience per identity");
  if (identity["TTL"].as_int() == 0 && !name.empty() && name != "default")
    out.add("identities without an expiration are insecure");
  if (identity["Env"].as_bool() && text_at(identity, "ChangeMode") != "restart")
    out.add("using env=true without change_mode=\"restart\" may result in task not getting updated identity");
  return out;
}

void add_service_identities(const json::Value& services, ErrorList& out) {
  for (const json::Value& service : services.items()) {
    if (!service["Identity"].is_object()) continue;
    const ErrorList remarks = identity_remarks(service["Identity"]);
    for (const std::string& text : remarks.items())
      out.add("Service " + go_quote(text_at(service, "Name")) + ": " + text);
  }
}

ErrorList task_remarks(const Task& task) {  // R-REG-403
  ErrorList out;
  if (task.resources && task.resources->iops != 0)
    out.add("IOPS has been deprecated as of Nomad 0.9.0. Please remove IOPS from resource block.");
  if (task.resources && !task.resources->networks.empty())
    out.add(
        "task network resources have been deprecated as of Nomad 0.12.0. Please configure networking via group "
        "network block.");
  for (std::size_t i = 0; i < task.templates.items().size(); ++i)
    if (task.templates.items()[i]["VaultGrace"].as_int() != 0)
      out.add("Template[" + std::to_string(i) +
              "] VaultGrace has been deprecated as of Nomad 0.11 and ignored since Vault 0.5. Please remove VaultGrace "
              "/ vault_grace from template block.");
  add_service_identities(task.services, out);
  for (const json::Value& identity : task.identities.items()) {
    const ErrorList remarks = identity_remarks(identity);
    ErrorList named;
    for (const std::string& text : remarks.items()) named.add("Identity[" + text_at(identity, "Name") + "] " + text);
    out.add_nested("", named);
  }
  return out;
}

ErrorList group_remarks(const TaskGroup& group) {  // R-REG-402
  ErrorList out;
  if (group.update && group.count > 1 && group.update->max_parallel > group.count)
    out.add("Update max parallel count is greater than task group count (" +
            std::to_string(group.update->max_parallel) + " > " + std::to_string(group.count) +
            "). A destructive change would result in the simultaneous replacement of all allocations.");
  if (group.max_client_disconnect)
    out.add("MaxClientDisconnect is deprecated and ignored in favor of Disconnect.LostAfter");
  if (group.stop_after_client_disconnect)
    out.add("StopAfterClientDisconnect is deprecated and ignored favor of Disconnect.StopOnClientAfter");
  if (group.prevent_reschedule_on_lost)
    out.add("PreventRescheduleOnLost is deprecated and ignored in favor of Disconnect.Replace");
  if (!group.networks.empty() && group.networks.front().mbits > 0)
    out.add("mbits has been deprecated as of Nomad 0.12.0. Please remove mbits from the network block");
  add_service_identities(group.services, out);
  for (const Task& task : group.tasks)
    out.add_nested("Task " + go_quote(task.name) + " has warnings: ", task_remarks(task));
  return out;
}

std::string trimmed(const std::string& text) { return std::string(base::trim_space(text)); }

void add_shutdown_remarks(const TaskGroup& group, std::vector<std::string>& out) {  // R-REG-405
  const std::string in = "group " + go_quote(group.name);
  std::set<std::string_view> named;
  bool bare = false;
  for (const json::Value& service : group.services.items()) {
    const std::string& task = text_at(service, "TaskName");
    const json::Value& sidecar = service["Connect"]["SidecarTask"];
    if (!task.empty())
      named.insert(task);
    else if (!sidecar.is_object())
      bare = true;
    else if (sidecar["ShutdownDelay"].is_null())
      out.push_back("service " + go_quote(text_at(service, "Name")) +
                    " defines a sidecar task in Consul Connect definition, but the task has no shutdown_delay set");
  }
  bool delayed = group.shutdown_delay.value_or(0) > 0;
  for (const Task& task : group.tasks) {
    delayed = delayed || task.shutdown_delay > 0;
    if (task.shutdown_delay == 0 && named.contains(task.name))
      out.push_back(in + " references task " + go_quote(task.name) +
                    " in a service definition, but the task has no shutdown_delay set");
    if (task.shutdown_delay <= 0 && task.services.size() > 0)
      out.push_back("task " + go_quote(task.name) + " in " + in + " defines services, but has no shutdown_delay set");
  }
  if (bare && !delayed)
    out.push_back(in + " defines services, but neither the group nor any of its tasks have shutdown_delay set");
}

/// True if one group promotes its canaries automatically and another group with canaries does not (R-REG-406).
bool promotes_in_part(const Job& job) {
  bool some = false, other = false;
  for (const TaskGroup& group : job.task_groups)
    if (group.update) {
      some = some || group.update->auto_promote;
      other = other || (group.update->canary > 0 && !group.update->auto_promote);
    }
  return some && other;
}

}  // namespace

std::vector<std::string> job_warnings(const Job& job, const RegistrationLimits& limits) {
  std::vector<std::string> out;
  for (const TaskGroup& group : job.task_groups)
    if (const ErrorList remarks = group_remarks(group); !remarks.empty())
      out.push_back("Group " + go_quote(group.name) + " has warnings: " + trimmed(remarks.text()));
  for (const TaskGroup& group : job.task_groups) add_shutdown_remarks(group, out);
  if (promotes_in_part(job)) out.push_back("auto_promote must be true for all groups to enable automatic promotion");
  if (job.periodic && !job.periodic->spec.empty())
    out.push_back("cron is deprecated and may be removed in a future release. Use crons instead");
  for (const TaskGroup& group : job.task_groups)
    for (const Task& task : group.tasks)
      if (!task.vault.is_object())
        for (const json::Value& identity : task.identities.items())
          if (const std::string& name = text_at(identity, "Name"); name.starts_with("vault_"))
            out.push_back("Task " + task.name + " has an identity called " + name + " but no vault block");
  if (!limits.memory_oversubscription)
    for (const TaskGroup& group : job.task_groups)
      for (const Task& task : group.tasks)
        if (task.resources && task.resources->memory_max_mb != 0)
          out.push_back("Memory oversubscription is not enabled; Task \"" + group.name + "." + task.name +
                        "\" memory_max value will be ignored. Update the Scheduler Configuration to allow "
                        "oversubscription.");
  return out;
}

std::string warnings_text(const std::vector<std::string>& warnings) {
  if (warnings.empty()) return "";
  std::string out = std::to_string(warnings.size()) + (warnings.size() == 1 ? " warning:\n" : " warnings:\n");
  for (const std::string& warning : warnings) out += "\n* " + warning;
  return out;
}

}  // namespace berth::model
