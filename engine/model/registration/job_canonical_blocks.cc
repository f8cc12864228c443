// Canonical form of the blocks that the model retains as JSON: identities, services, Vault, templates, scaling. They
// count for "did the specification change" and for the update decision (R-MODEL-242, 276).
#include "model/job.h"
#include "model/registration/blocks.h"
#include "model/registration/job_canonical.h"

namespace berth::model {
namespace {

void put_upper_case(json::Value& object, std::string_view key) {
  json::Value* value = object.find(key);
  if (value && value->is_string()) *value = upper_case(value->as_string());
}

void replace_all(std::string& text, std::string_view from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

/// Services of a task, or of a group when `task_name` is "group".
void canonicalize_service(const Job& job, const TaskGroup& group, const std::string& task_name, bool of_group,
                          json::Value& service) {
  for (const char* key : {"Tags", "CanaryTags", "Checks", "TaggedAddresses"}) drop_empty(service, key);
  if (!of_group) default_text(service, "TaskName", task_name);
  std::string name = service["Name"].as_string();
  if (name.find("${") != std::string::npos) {
    replace_all(name, "${JOB}", job.name);
    replace_all(name, "${TASKGROUP}", group.name);
    replace_all(name, "${TASK}", task_name);
    replace_all(name, "${BASE}", job.name + "-" + group.name + "-" + task_name);
    service.set("Name", name);
  }
  default_text(service, "Provider", "consul");
  if (service["Provider"].as_string() == "nomad")
    service.set("Namespace", job.namespace_);
  else if (service["Provider"].as_string() == "consul")
    default_text(service, "Namespace", "default");
  if (json::Value* checks = service.find("Checks"); checks && checks->is_array())
    for (json::Value& check : checks->items()) {
      if (!check.is_object()) continue;
      default_text(check, "Name", "service: \"" + name + "\" check");
      if (const std::string& owner = service["TaskName"].as_string(); !owner.empty())
        default_text(check, "TaskName", owner);
      default_text(check, "OnUpdate", "require_healthy");
      if (json::Value* header = check.find("Header"))
        for (json::Member& values : header->members())
          if (values.value.size() == 0) values.value = json::Value();
    }
}

void canonicalize_services(const Job& job, const TaskGroup& group, const std::string& task_name, bool of_group,
                           json::Retained& services) {
  if (services.size() == 0) services = json::Value();
  if (!services.is_array()) return;
  for (json::Value& service : services.items())
    if (service.is_object()) canonicalize_service(job, group, task_name, of_group, service);
}

void canonicalize_identity(json::Value& identity) {
  default_text(identity, "Name", "default");
  if (identity["Name"].as_string() == "default")
    identity.set("Audience", json::Value(json::Array{json::Value("nomadproject.io")}));
  put_upper_case(identity, "ChangeSignal");
}

void canonicalize_identities(Task& task) {
  // A list that becomes empty is stored as `[]`, which is not an absent one (R-REG-220).
  if (task.identities.size() > 0) {
    json::Array kept;
    for (json::Value& identity : task.identities.items()) {
      if (!identity.is_object()) continue;
      canonicalize_identity(identity);
      if (identity["Name"].as_string() == "default")
        task.identity = identity;
      else
        kept.push_back(std::move(identity));
    }
    task.identities = json::Value(std::move(kept));
  }
  if (!task.identity.is_object()) task.identity = json::Value::object();
  canonicalize_identity(task.identity.own());
}

}  // namespace

void canonicalize_task_blocks(const Job& job, const TaskGroup& group, Task& task) {
  canonicalize_identities(task);
  canonicalize_services(job, group, task.name, false, task.services);
  if (task.vault.is_object()) {
    default_text(task.vault.own(), "ChangeMode", "restart");
    put_upper_case(task.vault.own(), "ChangeSignal");
  }
  if (task.templates.is_array())
    for (json::Value& entry : task.templates.items())
      if (entry.is_object()) put_upper_case(entry, "ChangeSignal");
}

void canonicalize_group_blocks(const Job& job, TaskGroup& group) {
  canonicalize_services(job, group, "group", true, group.services);
  if (!group.scaling) return;
  json::Value& scaling = group.scaling->extra.own();
  default_text(scaling, "Type", "horizontal");
  json::Value target = json::Value::object();
  target.set("Namespace", job.namespace_);
  target.set("Job", job.id);
  target.set("Group", group.name);
  scaling.set("Target", std::move(target));
}

}  // namespace berth::model
