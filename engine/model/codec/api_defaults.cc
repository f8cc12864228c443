#include "model/codec/api_defaults.h"

#include <string>

#include "base/json_members.h"
#include "base/time.h"
#include "model/codec/api_blocks.h"
#include "model/codec/fill.h"
#include "model/registration/blocks.h"

namespace berth::model {
namespace {

using base::kSecond;
using json::Value;

/// Fills absent members of `object` from `defaults`.
void fill_from(Value& object, const Value& defaults) {
  for (const json::Member& member : defaults.members()) fill(object, member.key, member.value);
}

/// Returns `base` with the members of `over` replacing or joining its own.
Value overlay(Value base, const Value& over) {
  json::merge_members(over.members(), base);
  return base;
}

Value object(std::initializer_list<std::pair<const char*, Value>> members) {
  Value out = Value::object();
  for (const auto& [key, value] : members) out.set(key, value);
  return out;
}

Value default_update() {
  return object({{"Stagger", 30 * kSecond},
                 {"MaxParallel", 1},
                 {"HealthCheck", "checks"},
                 {"MinHealthyTime", 10 * kSecond},
                 {"HealthyDeadline", 300 * kSecond},
                 {"ProgressDeadline", 600 * kSecond},
                 {"AutoRevert", false},
                 {"AutoPromote", false},
                 {"Canary", 0}});
}

Value default_reschedule(const std::string& type) {
  if (type == "service")
    return object({{"Attempts", 0},
                   {"Interval", 0},
                   {"Delay", 30 * kSecond},
                   {"DelayFunction", "exponential"},
                   {"MaxDelay", 3600 * kSecond},
                   {"Unlimited", true}});
  if (type == "batch")
    return object({{"Attempts", 1},
                   {"Interval", 24 * 3600 * kSecond},
                   {"Delay", 5 * kSecond},
                   {"DelayFunction", "constant"},
                   {"MaxDelay", 0},
                   {"Unlimited", false}});
  return object(
      {{"Attempts", 0}, {"Interval", 0}, {"Delay", 0}, {"DelayFunction", ""}, {"MaxDelay", 0}, {"Unlimited", false}});
}

Value default_restart(const std::string& type) {
  const bool service = type == "service" || type == "system";
  return object({{"Attempts", service ? 2 : 3},
                 {"Interval", (service ? 1800 : 24 * 3600) * kSecond},
                 {"Delay", 15 * kSecond},
                 {"Mode", "fail"},
                 {"RenderTemplates", false}});
}

Value default_migrate() {
  return object({{"MaxParallel", 1},
                 {"HealthCheck", "checks"},
                 {"MinHealthyTime", 10 * kSecond},
                 {"HealthyDeadline", 300 * kSecond}});
}

/// True if at least one field is non-zero, true or non-empty (R-MODEL-224).
bool says_something(const Value& block) {
  for (const json::Member& member : block.members()) {
    const Value& v = member.value;
    if (v.is_number() ? v.as_double() != 0 : v.is_bool() ? v.as_bool() : !v.as_string().empty()) return true;
  }
  return false;
}

struct JobNames {
  std::string job, vault_namespace, consul_namespace;
};

void fill_task(const JobNames& names, const Value& group, Value& task) {
  fill_api_resources(task);
  task.set("RestartPolicy", overlay(group["RestartPolicy"], task["RestartPolicy"]));
  fill(task, "KillTimeout", 5 * kSecond);
  fill_api_logs(task);
  fill_weights(task, "Affinities");
  fill_api_services(names.job, group["Name"].as_string(), task["Name"].as_string(), task);
  fill_api_task_blocks(names.vault_namespace, task);
}

void fill_group(const Value& job, const std::string& type, const JobNames& names, Value& group) {
  fill(group, "Name", "");
  Value* scaling = group.find("Scaling");
  fill(group, "Count", scaling && scaling->has("Min") ? (*scaling)["Min"] : Value(1));
  if ((scaling = group.find("Scaling"))) {
    fill(*scaling, "Min", group["Count"]);
    fill(*scaling, "Max", -1);  // refused later
    fill(*scaling, "Enabled", true);
    default_text(*scaling, "Type", "horizontal");
  }
  fill(group, "EphemeralDisk", Value::object());
  fill(*group.find("EphemeralDisk"), "SizeMB", 300);

  const Value* job_update = job.find("Update");
  if (Value* update = group.find("Update")) {
    if (job_update) *update = overlay(*job_update, *update);
    fill_from(*update, default_update());
  } else if (job_update && says_something(*job_update)) {
    fill_from(group.set("Update", *job_update), default_update());
  }

  const bool has_reschedule = group.has("ReschedulePolicy") || job.has("Reschedule");
  if (has_reschedule || (type != "system" && type != "sysbatch")) {
    Value policy = overlay(job["Reschedule"], group["ReschedulePolicy"]);
    fill_from(policy, default_reschedule(type));
    group.set("ReschedulePolicy", std::move(policy));
  }

  group.set("RestartPolicy", overlay(default_restart(type), group["RestartPolicy"]));

  if (group.has("Migrate") || job.has("Migrate") || type == "service") {
    Value migrate = overlay(job["Migrate"], group["Migrate"]);
    fill_from(migrate, default_migrate());
    group.set("Migrate", std::move(migrate));
  }

  if (Value* disconnect = group.find("Disconnect")) {
    fill(*disconnect, "Replace", true);
    fill(*disconnect, "Reconcile", "best_score");
  }
  if (Value* networks = group.find("Networks"))
    for (Value& network : networks->items()) network.erase("Device");
  if (Value* volumes = group.find("Volumes"))  // entries of unknown type are dropped (R-MODEL-101)
    std::erase_if(volumes->members(), [](const json::Member& volume) {
      const std::string& kind = volume.value["Type"].as_string();
      return kind != "host" && kind != "csi";
    });
  // Accepted and without effect (R-MODEL-101, trap 16).
  for (const char* key : {"StopAfterClientDisconnect", "MaxClientDisconnect", "PreventRescheduleOnLost"})
    group.erase(key);
  fill_api_services(names.job, group["Name"].as_string(), "", group);
  fill_api_consul(names.consul_namespace, group);
  if (Value* tasks = group.find("Tasks"))
    for (Value& task : tasks->items()) fill_task(names, group, task);
  fill_weights(group, "Spreads");
  fill_weights(group, "Affinities");
}

}  // namespace

void fill_api_defaults(Value& job, bool keep_job_blocks) {
  fill(job, "Name", job["ID"]);
  fill(job, "Namespace", "default");
  fill(job, "Priority", 50);
  fill(job, "Region", "global");
  fill(job, "Type", "service");
  const std::string type = job["Type"].as_string();
  if (Value* periodic = job.find("Periodic")) {
    fill(*periodic, "Enabled", true);
    fill(*periodic, "SpecType", "cron");
    default_text(*periodic, "TimeZone", "UTC");
  }
  if (Value* update = job.find("Update"))
    fill_from(*update, default_update());
  else if (type == "service" || type == "system")
    job.set("Update", default_update());

  const JobNames names{job["Name"].as_string(), job["VaultNamespace"].as_string(), job["ConsulNamespace"].as_string()};
  if (!keep_job_blocks) job.erase("ConsulNamespace");  // it lives on in the groups' blocks (R-REG-201)
  fill_api_job_blocks(job);
  if (Value* groups = job.find("TaskGroups"))
    for (Value& group : groups->items()) fill_group(job, type, names, group);
  fill_weights(job, "Spreads");
  fill_weights(job, "Affinities");

  if (keep_job_blocks) return;
  // Only these two fields of the job-level block are stored, and only when it counts (R-MODEL-224 c).
  const Value update = job["Update"];
  job.erase("Update");
  if (update["MaxParallel"].as_int() > 0) {
    Value kept = Value::object();
    kept.set("Stagger", update["Stagger"]);
    kept.set("MaxParallel", update["MaxParallel"]);
    job.set("Update", std::move(kept));
  }
  for (const char* key : {"Reschedule", "Migrate"}) job.erase(key);
}

}  // namespace berth::model
