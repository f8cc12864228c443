#include "client/group_spec.h"

#include "base/json.h"
#include "model/job.h"

namespace berth::client {
namespace {

constexpr std::int64_t kKillTimeoutDefault = 5 * base::kSecond;  // R-CTRL-1516

RestartPolicy read_policy(const model::RestartPolicy& policy) {
  return {policy.attempts, held_wait(policy.interval), held_wait(policy.delay), policy.mode == "delay"};
}

bool has_checks(const json::Value& services) {
  if (!services.is_array()) return false;
  for (const json::Value& service : services.items())
    if (service["Checks"].is_array() && !service["Checks"].items().empty()) return true;
  return false;
}

HealthPolicy read_health(std::int64_t min_healthy, std::int64_t deadline, const std::string& health_check,
                         bool has_checks) {
  HealthPolicy out;
  out.min_healthy_ns = held_wait(min_healthy);
  out.deadline_ns = held_wait(deadline);
  out.checks = has_checks && health_check == "checks";
  return out;
}

}  // namespace

void read_group(const model::Job& job, const model::TaskGroup& group, const GroupSpecOptions& options, GroupSpec& out) {
  out.type = model::parse_job_type(job.type);
  const bool batch = is_of_batch(out.type);
  out.tasks.clear(), out.roles.clear();
  bool checks = has_checks(group.services);
  for (const model::Task& task : group.tasks) {
    TaskRole role;
    role.leader = task.leader;
    if (task.lifecycle) role.hook = hook(task.lifecycle->hook), role.sidecar = task.lifecycle->sidecar;
    TaskSpec spec;
    spec.name = task.name;
    const auto& policy = task.restart_policy ? task.restart_policy : group.restart_policy;
    if (policy) spec.restart = read_policy(*policy);
    spec.restart_on_success = restarts_on_success(out.type, role);
    spec.kill_timeout_ns =
        std::min(task.kill_timeout > 0 ? task.kill_timeout : kKillTimeoutDefault, options.kill_timeout_max_ns);
    spec.shutdown_delay_ns = held_wait(task.shutdown_delay);
    for (const std::string& driver : options.remote_drivers) spec.remote |= driver == task.driver;
    checks |= has_checks(task.services);
    out.tasks.push_back(spec), out.roles.push_back(role);
  }
  out.max_run_ns = batch ? held_wait(group.max_run_duration.value_or(0)) : 0;
  out.stop_after_ns = group.disconnect ? held_wait(group.disconnect->stop_on_client_after.value_or(0)) : 0;
  out.watched = !batch;
  out.watched_in_deployment =
      !batch && group.update && group.update->max_parallel != 0 && group.update->health_check != "manual";
  const model::MigrateStrategy defaults{1, "checks", 10 * base::kSecond, 300 * base::kSecond};
  const model::MigrateStrategy& migrate = group.migrate ? *group.migrate : defaults;
  out.migration = read_health(migrate.min_healthy_time, migrate.healthy_deadline, migrate.health_check, checks);
  if (group.update)
    out.deployment =
        read_health(group.update->min_healthy_time, group.update->healthy_deadline, group.update->health_check, checks);
}

}  // namespace berth::client
