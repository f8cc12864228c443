// A task group: its blocks, volumes, scaling, and its tasks (R-MODEL-251, 255, R-REG-320 to 327).
#include <map>

#include "base/json.h"
#include "base/text.h"
#include "model/job.h"
#include "model/registration/validate_job.h"

namespace berth::model {
namespace {

bool is_system(const std::string& type) { return type == "system" || type == "sysbatch"; }
bool is_batch(const std::string& type) { return type == "batch" || type == "sysbatch"; }

void validate_disconnect(const Job& job, const DisconnectStrategy& disconnect, ErrorList& errors) {
  if (disconnect.stop_on_client_after) {
    if (*disconnect.stop_on_client_after < 0) errors.add("stop_after cannot be a negative duration");
    if (job.type != "service" && job.type != "batch")
      errors.add("stop_after can only be used with service or batch job types");
  }
  if (disconnect.lost_after < 0) errors.add("lost_after cannot be a negative duration");
  if (disconnect.stop_on_client_after && disconnect.lost_after != 0)
    errors.add("Disconnect cannot be configured with both lost_after and stop_after");
  const std::string& how = disconnect.reconcile;
  if (!how.empty() && how != "best_score" && how != "longest_running" && how != "keep_original" &&
      how != "keep_replacement")
    errors.add("reconcile option is invalid: " + how);
}

ErrorList validate_scaling(const TaskGroup& group) {  // R-REG-327
  const Scaling& scaling = *group.scaling;
  ErrorList errors;
  const auto add = [&](const std::string& text) { errors.add("Scaling policy invalid: " + text); };
  const std::string& type = scaling.extra["Type"].as_string();
  if (type.empty())
    add("missing scaling policy type");
  else if (type != "horizontal")
    add("scaling policy type " + base::go_quote(type) + " is not valid");
  const json::Value& target = scaling.extra["Target"];
  for (const auto& [key, word] : {std::pair{"Namespace", "namespace"}, {"Job", "job"}, {"Group", "group"}})
    if (target.is_object() && target[key].as_string().empty()) add(std::string("missing target ") + word);
  if (scaling.max < 0)
    add("maximum count must be specified and non-negative");
  else if (scaling.max < scaling.min)
    add("maximum count must not be less than minimum count");
  if (scaling.min < 0) add("minimum count must be specified and non-negative");
  if (scaling.max < group.count) add("task group count must not be greater than maximum count in scaling policy");
  if (group.count < scaling.min) add("task group count must not be less than minimum count in scaling policy");
  return errors;
}

void validate_host_volume(const VolumeRequest& v, ErrorList& errors) {
  if (!v.mount_options.is_null()) errors.add("host volumes cannot have mount options");
  const std::string& mode = v.access_mode;
  if (mode == "single-node-reader-only") {
    if (!v.read_only) errors.add(mode + " volumes must be read-only");
  } else if (!mode.empty() && mode != "single-node-writer" && mode != "single-node-single-writer" &&
             mode != "single-node-multi-writer") {
    errors.add("host volumes cannot be mounted with " + mode + " access mode");
  }
}

void validate_csi_volume(const TaskGroup& group, const VolumeRequest& v, ErrorList& errors) {
  const std::string& mode = v.access_mode;
  if (v.attachment_mode.empty()) errors.add("CSI volumes must have an attachment mode");
  if (v.attachment_mode == "block-device" && !v.mount_options.is_null())
    errors.add("block devices cannot have mount options");
  if (mode.empty()) {
    errors.add("CSI volumes must have an access mode");
  } else if (mode == "single-node-reader-only" || mode == "multi-node-reader-only") {
    if (!v.read_only) errors.add(mode + " volumes must be read-only");
    if (mode == "single-node-reader-only" && group.count > 1 && !v.per_alloc)
      errors.add("volume with " + mode + " access mode allows only one reader");
  } else if (mode == "single-node-writer") {
    if (group.count > 1 && !v.per_alloc)
      errors.add("volume with " + mode + " access mode allows only one reader or writer");
  } else if (mode == "multi-node-single-writer") {
    if (!v.read_only && group.count > 1 && !v.per_alloc)
      errors.add("volume with " + mode + " access mode allows only one writer");
  }
  // Other modes are let through: the recorded registrations accept even a host volume's mode here.
}

void validate_volumes(const Job& job, const TaskGroup& group, ErrorList& errors) {
  for (const auto& [name, volume] : group.volumes) {
    const std::string prefix = "Task group volume validation for " + name + " failed: ";
    if (!volume || (volume->type != "host" && volume->type != "csi")) {
      errors.add(prefix + "volume has unrecognized type " + (volume ? volume->type : ""));
      continue;
    }
    ErrorList inner;
    if (volume->source.empty()) inner.add("volume has an empty source");
    if (volume->per_alloc) {
      if (is_system(job.type)) inner.add("volume cannot be per_alloc for system or sysbatch jobs");
      if (group.update && group.update->canary > 0) inner.add("volume cannot be per_alloc when canaries are in use");
      if (volume->sticky) inner.add("volume cannot be per_alloc and sticky at the same time");
    }
    if (volume->type == "host")
      validate_host_volume(*volume, inner);
    else
      validate_csi_volume(group, *volume, inner);
    errors.add_nested(prefix, inner);
  }
}

void validate_task_names(const TaskGroup& group, ErrorList& errors) {
  std::map<std::string, std::size_t> first;
  int leaders = 0, main_tasks = 0;
  for (std::size_t i = 0; i < group.tasks.size(); ++i) {
    const Task& task = group.tasks[i];
    if (task.name.empty())
      errors.add("Task " + std::to_string(i + 1) + " missing name");
    else if (const auto [at, fresh] = first.emplace(task.name, i + 1); !fresh)
      errors.add("Task " + std::to_string(i + 1) + " redefines '" + task.name + "' from task " +
                 std::to_string(at->second));
    leaders += task.leader;
    main_tasks += !task.lifecycle || task.lifecycle->hook.empty();
  }
  if (leaders > 1) errors.add("Only one task may be marked as leader");
  if (!group.tasks.empty() && main_tasks == 0)
    errors.add("Task group " + group.name + " must have at least one main task");
}

}  // namespace

ErrorList validate_group(const Job& job, const TaskGroup& group, const std::string& place,
                         const EmptyContainers& empty) {
  ErrorList errors;
  const std::string quoted_type = base::go_quote(job.type);
  if (group.name.empty()) errors.add("Missing task group name");
  if (has_nul(group.name)) errors.add("Task group name contains null character");
  if (group.count < 0) errors.add("Task group count can't be negative");
  if (group.tasks.empty()) errors.add("Missing tasks for task group");
  if (group.disconnect) validate_disconnect(job, *group.disconnect, errors);
  if (group.max_run_duration) {
    if (*group.max_run_duration <= 0) errors.add("MaxRunDuration must be greater than zero");
    if (!is_batch(job.type)) errors.add("Job type " + quoted_type + " does not allow max_run_duration");
  }
  validate_constraints(group.constraints, errors);
  if (job.type == "system") {
    if (!group.affinities.empty() || empty.contains(place + "/Affinities"))
      errors.add("System jobs may not have an affinity block");
  } else {
    validate_affinities(group.affinities, errors);
  }
  if (!group.restart_policy)
    errors.add("Task Group " + group.name + " should have a restart policy");
  else
    errors.append(validate_restart(*group.restart_policy));
  if (job.type == "system") {
    if (!group.spreads.empty() || empty.contains(place + "/Spreads"))
      errors.add("System jobs may not have a spread block");
  } else {
    validate_spreads(group.spreads, errors);
  }
  if (is_system(job.type)) {
    if (group.reschedule_policy) errors.add("System or sysbatch jobs should not have a reschedule policy");
  } else if (!group.reschedule_policy) {
    errors.add("Task Group " + group.name + " should have a reschedule policy");
  } else {
    errors.append(validate_reschedule(*group.reschedule_policy));
  }
  if (!group.ephemeral_disk)
    errors.add("Task Group " + group.name + " should have an ephemeral disk object");
  else if (group.ephemeral_disk->size_mb < 10)
    errors.add("minimum DiskMB value is 10; got " + std::to_string(group.ephemeral_disk->size_mb));
  if (group.update) {
    if (job.type != "service" && job.type != "system")
      errors.add("Job type " + quoted_type + " does not allow update block");
    errors.append(validate_update_strategy(*group.update));
  }
  if (group.migrate) {
    if (job.type != "service")
      errors.add("Job type " + quoted_type + " does not allow migrate block");
    else
      errors.append(validate_migrate(*group.migrate));
  }
  validate_task_names(group, errors);
  validate_volumes(job, group, errors);
  errors.add_nested("Task group network validation failed: ", validate_networks(group));
  errors.add_nested("Task group service validation failed: ", validate_group_services(group));
  errors.add_nested("Task group service check validation failed: ", validate_script_checks(group));
  if (group.scaling) errors.add_nested("Task group scaling policy validation failed: ", validate_scaling(group));
  const GroupNames names{connect_services(group), port_labels(group)};
  for (std::size_t i = 0; i < group.tasks.size(); ++i)
    errors.add_nested("Task " + group.tasks[i].name + " validation failed: ",
                      validate_task(job, group, names, group.tasks[i], place + "/Tasks/" + std::to_string(i), empty));
  return errors;
}

}  // namespace berth::model
