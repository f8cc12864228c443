#include "hcl/job_finish.h"

#include <algorithm>

#include "base/assert.h"

namespace berth::hcl {
namespace {

void set_if_unset(json::Value& object, std::string_view key, json::Value value) {
  json::Value* field = object.find(key);
  BERTH_ASSERT(field != nullptr);
  if (field->is_null()) *field = std::move(value);
}

/// R-HCL-502.
void finish_vault(json::Value& vault) {
  if (vault.is_null()) return;
  set_if_unset(vault, "Env", true);
  set_if_unset(vault, "DisableFile", false);
  set_if_unset(vault, "ChangeMode", "restart");
}

/// R-HCL-504: `static` above 0 makes a reserved port.
void finish_ports(json::Value* networks) {
  if (networks == nullptr) return;
  for (json::Value& network : networks->items()) {
    json::Value& dynamic_ports = *network.find("DynamicPorts");
    if (dynamic_ports.is_null()) continue;
    json::Value reserved, dynamic;
    for (json::Value& port : dynamic_ports.items()) {
      json::Value& list = port["Value"].as_int() > 0 ? reserved : dynamic;
      if (list.is_null()) list = json::Value::array();
      list.push(std::move(port));
    }
    *network.find("ReservedPorts") = std::move(reserved);
    dynamic_ports = std::move(dynamic);
  }
}

/// R-HCL-506.
void finish_template(json::Value& entry) {
  constexpr std::int64_t kFiveSeconds = 5'000'000'000;
  set_if_unset(entry, "ChangeMode", "restart");
  set_if_unset(entry, "Perms", "0644");
  set_if_unset(entry, "Splay", kFiveSeconds);
  set_if_unset(entry, "ErrMissingKey", false);
  json::Value& script = *entry.find("ChangeScript");
  if (script.is_null()) return;
  set_if_unset(script, "Args", json::Value::array());
  set_if_unset(script, "Timeout", kFiveSeconds);
  set_if_unset(script, "FailOnError", false);
  set_if_unset(script, "RunOnFirstRender", false);
}

/// R-HCL-507: the default identity has a field of its own.
void finish_identities(json::Value& task) {
  json::Value& identities = *task.find("Identities");
  if (identities.is_null()) return;
  json::Array& list = identities.items();
  const auto found = std::find_if(list.begin(), list.end(), [](const json::Value& identity) {
    const std::string& name = identity["Name"].as_string();
    return name.empty() || name == "default";
  });
  if (found == list.end()) return;
  *task.find("Identity") = std::move(*found);
  list.erase(found);
}

void append(json::Value& list, const json::Value& more) {
  if (more.is_null()) return;
  if (list.is_null()) list = json::Value::array();
  for (const json::Value& item : more.items()) list.push(item);
}

void finish_task(json::Value& task, const JobParts& job, const json::Value& group_vault,
                 const json::Value& group_secrets) {
  json::Value& vault = *task.find("Vault");
  if (vault.is_null()) vault = group_vault.is_null() ? job.vault : group_vault;
  finish_vault(vault);
  // Own secrets are duplicated if the group has some: R-HCL-503 describes the defect.
  json::Value& secrets = *task.find("Secrets");
  if (secrets.is_null()) {
    secrets = group_secrets;
  } else if (!group_secrets.is_null()) {
    const json::Value own = secrets;
    append(secrets, own);
  }
  append(secrets, job.secrets);
  if (json::Value& templates = *task.find("Templates"); !templates.is_null()) {
    for (json::Value& entry : templates.items()) finish_template(entry);
  }
  finish_identities(task);
  if (json::Value& resources = *task.find("Resources"); !resources.is_null()) {
    json::Value& networks = *resources.find("Networks");
    if (!networks.is_null()) finish_ports(&networks);
  }
  if (task["CSIPluginConfig"].is_null()) task.erase("CSIPluginConfig");  // R-HCL-400
}

}  // namespace

void finish_job(json::Value& job, JobParts parts) {
  set_if_unset(job, "ID", parts.label);
  set_if_unset(job, "Name", parts.label);
  if (json::Value& periodic = *job.find("Periodic"); !periodic.is_null()) {  // R-HCL-501
    const bool cron = !periodic["Spec"].is_null() || !periodic["Specs"].is_null();
    periodic.set("SpecType", cron ? json::Value("cron") : json::Value());
  }
  json::Value& groups = *job.find("TaskGroups");
  json::Value all;
  std::vector<JobParts::Group> beside;
  for (auto& lone : parts.lone_tasks) {
    if (all.is_null()) all = json::Value::array();
    all.push(std::move(lone.object));
    beside.emplace_back();
  }
  if (!groups.is_null()) {
    if (all.is_null()) all = json::Value::array();
    for (json::Value& group : groups.items()) all.push(std::move(group));
    for (auto& group : parts.groups) beside.push_back(std::move(group));
  }
  groups = std::move(all);
  if (groups.is_null()) return;
  BERTH_ASSERT(groups.size() == beside.size());
  for (std::size_t i = 0; i < groups.size(); ++i) {
    json::Value& group = groups.items()[i];
    if (json::Value& networks = *group.find("Networks"); !networks.is_null()) finish_ports(&networks);
    json::Value& tasks = *group.find("Tasks");
    if (tasks.is_null()) continue;
    for (json::Value& task : tasks.items()) finish_task(task, parts, beside[i].vault, beside[i].secrets);
  }
}

}  // namespace berth::hcl
