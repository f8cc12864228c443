#include "berth/job_builder.h"

#include "base/json.h"

namespace berth {
namespace {

using json::Value;

Value rule(const std::string& attribute, const std::string& operand, const std::string& value) {
  return json::Object{{"LTarget", attribute}, {"Operand", operand}, {"RTarget", value}};
}

void add_rules(Value& into, const std::vector<JobConstraint>& constraints, const std::vector<JobAffinity>& affinities) {
  if (!constraints.empty()) {
    Value& list = into.set("Constraints", Value::array());
    for (const JobConstraint& one : constraints) list.push(rule(one.attribute, one.operand, one.value));
  }
  if (!affinities.empty()) {
    Value& list = into.set("Affinities", Value::array());
    for (const JobAffinity& one : affinities) {
      Value affinity = rule(one.attribute, one.operand, one.value);
      affinity.set("Weight", one.weight);
      list.push(std::move(affinity));
    }
  }
}

void add_spreads(Value& into, const std::vector<JobSpread>& spreads) {
  if (spreads.empty()) return;
  Value& list = into.set("Spreads", Value::array());
  for (const JobSpread& one : spreads) {
    Value spread = json::Object{{"Attribute", one.attribute}, {"Weight", one.weight}};
    Value& targets = spread.set("SpreadTarget", Value::array());
    for (const auto& [value, percent] : one.targets) targets.push(json::Object{{"Value", value}, {"Percent", percent}});
    list.push(std::move(spread));
  }
}

Value task_value(const JobTask& task) {
  Value out = json::Object{{"Name", task.name}, {"Driver", task.driver}};
  Value& resources = out.set("Resources", Value::object());
  if (task.cores > 0)
    resources.set("Cores", task.cores);
  else
    resources.set("CPU", task.cpu_mhz);
  resources.set("MemoryMB", task.memory_mb);
  if (task.memory_max_mb != 0) resources.set("MemoryMaxMB", task.memory_max_mb);
  if (!task.devices.empty()) {
    Value& devices = resources.set("Devices", Value::array());
    for (const JobDevice& device : task.devices)
      devices.push(json::Object{{"Name", device.name}, {"Count", device.count}});
  }
  add_rules(out, task.constraints, task.affinities);
  return out;
}

Value group_value(const JobGroup& group) {
  Value out = json::Object{{"Name", group.name}, {"Count", group.count}};
  out.set("EphemeralDisk", json::Object{{"SizeMB", group.disk_mb}});
  if (!group.ports.empty()) {
    Value network = json::Object{{"Mode", "host"}};
    Value reserved = Value::array(), dynamic = Value::array();
    for (const JobPort& port : group.ports)
      (port.value == 0 ? dynamic : reserved).push(json::Object{{"Label", port.label}, {"Value", port.value}});
    network.set("ReservedPorts", std::move(reserved));
    network.set("DynamicPorts", std::move(dynamic));
    out.set("Networks", json::Array{std::move(network)});
  }
  std::vector<JobConstraint> constraints = group.constraints;
  if (group.distinct_hosts) constraints.push_back({"", "distinct_hosts", "true"});
  add_rules(out, constraints, group.affinities);
  add_spreads(out, group.spreads);
  Value& tasks = out.set("Tasks", Value::array());
  for (const JobTask& task : group.tasks) tasks.push(task_value(task));
  return out;
}

}  // namespace

Result<Job> build_job(const JobSpec& spec) {
  Value job = json::Object{{"ID", spec.id},
                           {"Name", spec.id},
                           {"Type", spec.type},
                           {"Priority", spec.priority},
                           {"Namespace", spec.job_namespace},
                           {"NodePool", spec.pool},
                           {"AllAtOnce", spec.all_at_once}};
  Value& datacenters = job.set("Datacenters", Value::array());
  for (const std::string& datacenter : spec.datacenters) datacenters.push(datacenter);
  add_rules(job, spec.constraints, spec.affinities);
  add_spreads(job, spec.spreads);
  Value& groups = job.set("TaskGroups", Value::array());
  for (const JobGroup& group : spec.groups) groups.push(group_value(group));
  return Job::from_json(json::to_text(job), "job " + spec.id);
}

}  // namespace berth
