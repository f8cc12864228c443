#include "model/registration/job_canonical.h"

#include "base/json.h"
#include "model/job.h"

namespace berth::model {
namespace {

using base::kSecond;

void canonicalize_ports(std::vector<NetworkResource>& networks) {
  for (NetworkResource& network : networks)
    for (auto* ports : {&network.reserved_ports, &network.dynamic_ports})
      for (Port& port : *ports)
        if (port.host_network.empty()) port.host_network = "default";
}

void canonicalize_group(const Job& job, TaskGroup& group) {
  if (!group.restart_policy) group.restart_policy = default_restart_policy(job.type);
  if (!group.reschedule_policy) group.reschedule_policy = default_reschedule_policy(job.type);
  if (group.disconnect) {
    if (!group.disconnect->replace) group.disconnect->replace = true;
    if (group.disconnect->reconcile.empty()) group.disconnect->reconcile = "best_score";
  }
  if (!group.migrate && job.type == "service") group.migrate = default_migrate_strategy();
  if (!group.ephemeral_disk) group.ephemeral_disk = EphemeralDisk{.size_mb = 300};
  canonicalize_ports(group.networks);
  canonicalize_group_blocks(job, group);
  for (Task& task : group.tasks) canonicalize_task(job, group, task);
}

}  // namespace

void canonicalize_task(const Job& job, const TaskGroup& group, Task& task) {
  if (task.config.size() == 0) task.config = json::Value();
  if (task.env.size() == 0) task.env = json::Value();
  if (task.volume_mounts.size() == 0) task.volume_mounts = json::Value();
  if (!task.resources) {
    task.resources.emplace();
    task.resources->cpu = 100, task.resources->memory_mb = 300;
  } else {
    canonicalize_ports(task.resources->networks);
    if (task.resources->numa && task.resources->numa->affinity.empty()) task.resources->numa->affinity = "none";
  }
  if (!task.restart_policy) task.restart_policy = group.restart_policy;
  if (task.kill_timeout == 0) task.kill_timeout = 5 * kSecond;
  canonicalize_task_blocks(job, group, task);
}

std::optional<ReschedulePolicy> default_reschedule_policy(const std::string& job_type) {
  if (job_type == "service")
    return ReschedulePolicy{
        .delay = 30 * kSecond, .delay_function = "exponential", .max_delay = 3600 * kSecond, .unlimited = true};
  if (job_type == "batch")
    return ReschedulePolicy{
        .attempts = 1, .interval = 24 * 3600 * kSecond, .delay = 5 * kSecond, .delay_function = "constant"};
  return std::nullopt;
}

std::optional<RestartPolicy> default_restart_policy(const std::string& job_type) {
  if (job_type == "service" || job_type == "system")
    return RestartPolicy{.attempts = 2, .interval = 1800 * kSecond, .delay = 15 * kSecond, .mode = "fail"};
  if (job_type == "batch")
    return RestartPolicy{.attempts = 3, .interval = 24 * 3600 * kSecond, .delay = 15 * kSecond, .mode = "fail"};
  return std::nullopt;
}

MigrateStrategy default_migrate_strategy() {
  return {
      .max_parallel = 1, .health_check = "checks", .min_healthy_time = 10 * kSecond, .healthy_deadline = 300 * kSecond};
}

void canonicalize(Job& job) {
  // Empty lists and maps of the model are absent ones, so there is nothing to do for Meta, Constraints and the like.
  if (job.namespace_.empty()) job.namespace_ = "default";
  if (job.datacenters.empty()) job.datacenters = {"*"};
  for (TaskGroup& group : job.task_groups) canonicalize_group(job, group);
  if (job.parameterized_job && job.parameterized_job->payload.empty()) job.parameterized_job->payload = "optional";
}

void fill_server_defaults(Job& job) {
  if (job.priority == 0) job.priority = 50;
  if (job.node_pool.empty()) job.node_pool = "default";
}

}  // namespace berth::model
