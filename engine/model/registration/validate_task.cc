// A task: names, times, resources, devices, logs (R-MODEL-252).
#include <algorithm>
#include <set>

#include "base/json.h"
#include "base/text.h"
#include "model/job.h"
#include "model/registration/validate_job.h"

namespace berth::model {
namespace {

ErrorList validate_device(const RequestedDevice& device) {
  ErrorList errors;
  if (device.name.empty())
    errors.add("device name must be given as one of the following: type, vendor/type, or vendor/type/name");
  for (std::size_t i = 0; i < device.constraints.size(); ++i) {
    const Constraint& constraint = device.constraints[i];
    const std::string place = "Constraint " + std::to_string(static_cast<std::int64_t>(i) + 1);
    if (constraint.operand == "distinct_hosts" || constraint.operand == "distinct_property")
      errors.add(place + " validation failed: using unsupported operand " + base::go_quote(constraint.operand));
    else
      errors.add_nested(place + " validation failed: ", validate_constraint(constraint));
  }
  validate_affinities(device.affinities, errors);
  return errors;
}

ErrorList validate_log_config(const LogConfig& log, const std::optional<EphemeralDisk>& disk) {
  ErrorList errors;
  if (log.max_files < 1) errors.add("minimum number of files is 1; got " + std::to_string(log.max_files));
  if (log.max_file_size_mb < 1) errors.add("minimum file size is 1MB; got " + std::to_string(log.max_file_size_mb));
  std::int64_t storage;
  if (__builtin_mul_overflow(log.max_files, log.max_file_size_mb, &storage))
    storage = std::numeric_limits<std::int64_t>::max();
  if (disk && disk->size_mb <= storage)
    errors.add("log storage (" + std::to_string(storage) + " MB) must be less than requested disk capacity (" +
               std::to_string(disk->size_mb) + " MB)");
  return errors;
}

void validate_mounts(const TaskGroup& group, const Task& task, ErrorList& errors) {
  const json::Array& mounts = task.volume_mounts.items();
  for (std::size_t i = 0; i < mounts.size(); ++i) {
    const std::string place = "Volume Mount (" + std::to_string(static_cast<std::int64_t>(i)) + ")";
    const std::string& volume = mounts[i]["Volume"].as_string();
    if (!group.volumes.contains(volume)) errors.add(place + " references undefined volume " + volume);
    ErrorList inner;
    if (volume.empty()) inner.add("volume mount references an empty volume");
    if (const std::string& mode = mounts[i]["PropagationMode"].as_string();
        !mode.empty() && mode != "private" && mode != "host-to-task" && mode != "bidirectional")
      inner.add("volume mount has an invalid propagation mode: " + base::go_quote(mode));
    if (const std::string& label = mounts[i]["SELinuxLabel"].as_string();
        !label.empty() && label != "z" && label != "Z")
      inner.add("volume mount has an invalid SELinux label: " + base::go_quote(label));
    if (!inner.empty()) errors.add(place + " is invalid: \"" + inner.text() + "\"");
  }
}

}  // namespace

ErrorList validate_resources(const Resources& r) {
  ErrorList errors;
  if (r.cores > 0 && r.cpu > 0) errors.add("Task can only ask for 'cpu' or 'cores' resource, not both.");
  if (r.cores < 0) errors.add("cores value (" + std::to_string(r.cores) + ") cannot be negative");
  ErrorList least;
  if (r.cores == 0 && r.cpu < 1) least.add("minimum CPU value is 1; got " + std::to_string(r.cpu));
  if (r.memory_mb < 10) least.add("minimum MemoryMB value is 10; got " + std::to_string(r.memory_mb));
  errors.add_nested("", least);
  if (r.disk_mb > 0)
    errors.add("Task can't ask for disk resources, they have to be specified at the task group level.");
  for (std::size_t i = 0; i < r.devices.size(); ++i)
    errors.add_nested("device " + std::to_string(static_cast<std::int64_t>(i) + 1) + " failed validation: ",
                      validate_device(r.devices[i]));
  if (r.numa) {
    std::set<std::string_view> requested;
    for (const RequestedDevice& device : r.devices) requested.insert(device.name);
    for (const std::string& name : r.numa->devices)
      if (!requested.contains(name))
        errors.add("numa device " + base::go_quote(name) + " not requested as task resource");
    const std::string& affinity = r.numa->affinity;
    if (affinity != "none" && affinity != "prefer" && affinity != "require")
      errors.add("numa affinity must be one of none, prefer, or require");
  }
  if (r.memory_max_mb != 0 && r.memory_max_mb != -1 && r.memory_max_mb < r.memory_mb)
    errors.add("MemoryMaxMB value (" + std::to_string(r.memory_max_mb) + ") should be larger than MemoryMB value (" +
               std::to_string(r.memory_mb) + ")");
  if (r.secrets_mb > r.memory_mb)
    errors.add("SecretsMB value (" + std::to_string(r.secrets_mb) + ") cannot be larger than MemoryMB value (" +
               std::to_string(r.memory_mb) + ")");
  if (r.secrets_mb < 0) errors.add("SecretsMB value (" + std::to_string(r.secrets_mb) + ") cannot be negative");
  return errors;
}

ErrorList validate_task(const Job& job, const TaskGroup& group, const GroupNames& names, const Task& task,
                        const std::string& place, const EmptyContainers& empty) {
  ErrorList errors;
  if (task.name.empty()) errors.add("Missing task name");
  if (task.name == "alloc") errors.add("Task cannot be named \"alloc\"");
  if (task.name.find_first_of("/\\") != std::string::npos)
    errors.add("Task name cannot include slashes");
  else if (has_nul(task.name))
    errors.add("Task name cannot include null characters");
  if (task.driver.empty()) errors.add("Missing task driver");
  if (task.kill_timeout < 0)
    errors.add("KillTimeout must be a positive value");
  else if (job.type == "service" && group.update && group.update->progress_deadline > 0 &&
           task.kill_timeout > group.update->progress_deadline)
    errors.add("KillTimout (" + base::duration_text(task.kill_timeout) +
               ") longer than the group's ProgressDeadline (" + base::duration_text(group.update->progress_deadline) +
               ")");
  if (task.shutdown_delay < 0) errors.add("ShutdownDelay must be a positive value");
  if (!task.resources)
    errors.add("Missing task resources");
  else
    errors.add_nested("", validate_resources(*task.resources));
  if (!task.log_config)
    errors.add("Missing Log Config");
  else
    errors.add_nested("", validate_log_config(*task.log_config, group.ephemeral_disk));
  for (std::size_t i = 0; i < task.constraints.size(); ++i) {
    const Constraint& constraint = task.constraints[i];
    const std::string which = "Constraint " + std::to_string(static_cast<std::int64_t>(i) + 1);
    errors.add_nested(which + " validation failed: ", validate_constraint(constraint));
    if (constraint.operand == "distinct_hosts" || constraint.operand == "distinct_property")
      errors.add(which + " has disallowed Operand at task level: " + constraint.operand);
  }
  if (job.type == "system") {
    if (!task.affinities.empty() || empty.contains(place + "/Affinities"))
      errors.add("System jobs may not have an affinity block");
  } else {
    validate_affinities(task.affinities, errors);
  }
  errors.add_nested("", validate_task_services(names.port_labels, task));
  validate_fetched(task, errors);
  if (task.lifecycle) {
    const std::string& hook = task.lifecycle->hook;
    if (hook.empty())
      errors.add("Lifecycle validation failed: no lifecycle hook provided");
    else if (hook != "prestart" && hook != "poststart" && hook != "poststop")
      errors.add("Lifecycle validation failed: invalid hook: " + hook);
  }
  validate_connect_proxy(names.connect, task, errors);
  validate_mounts(group, task, errors);
  validate_csi_plugin(task.csi_plugin_config, errors);
  validate_identities(task, errors);
  validate_secrets(task, errors);
  return errors;
}

}  // namespace berth::model
