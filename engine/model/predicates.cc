#include "model/predicates.h"

#include <algorithm>
#include <limits>

#include "base/text.h"
#include "base/wrap.h"
#include "model/job.h"

namespace berth::model {
namespace {

using base::Time;
using base::wrap_add;
using base::wrap_mul;

/// `time` + `delay`. No time counts as year 1: adding a policy's delay leaves it before every other instant.
Time plus(Time time, Duration delay) { return time.is_zero() ? time : Time{wrap_add(time.ns, delay)}; }

/// `a` - `b` of instants as the reference subtracts them: clamped to the range of a duration.
Duration difference(Time a, std::int64_t b) {
  if (a.is_zero()) return std::numeric_limits<Duration>::min();
  Duration out = 0;
  if (__builtin_sub_overflow(a.ns, b, &out))
    return a.ns < b ? std::numeric_limits<Duration>::min() : std::numeric_limits<Duration>::max();
  return out;
}

const std::vector<RescheduleEvent>* events_of(const Allocation& alloc) {
  if (!alloc.reschedule_tracker || !alloc.reschedule_tracker->events) return nullptr;
  return &*alloc.reschedule_tracker->events;
}

/// The second half of R-MODEL-347.
NextReschedule reschedule_after(const Allocation& alloc, const ReschedulePolicy& policy, Time failed,
                                const Quirks& quirks) {
  const Duration delay = next_delay(alloc);
  NextReschedule out{plus(failed, delay), policy.unlimited || (policy.attempts > 0 && !alloc.reschedule_tracker)};
  const bool has_list = events_of(alloc) || (!quirks.missing_events_ineligible && alloc.reschedule_tracker);
  if (policy.attempts > 0 && has_list)
    out.eligible = count_attempts(alloc, &policy, failed).attempted < policy.attempts && delay < policy.interval;
  return out;
}

}  // namespace

bool is_in_pool(const Node& node, std::string_view pool) { return pool == "all" || node.node_pool == pool; }
bool is_in_datacenters(const Node& node, std::span<const std::string> datacenters) {
  return std::any_of(datacenters.begin(), datacenters.end(),
                     [&](const std::string& pattern) { return base::glob_match(pattern, node.datacenter); });
}

DrainDeadline drain_deadline(const DrainStrategy* strategy) {
  if (!strategy || strategy->deadline < 0) return {};
  if (strategy->deadline == 0) return {.infinite = true, .at = {}};
  return {.infinite = false, .at = strategy->force_deadline};
}

bool is_stopped(const Job* job) { return !job || job->stop; }
bool is_periodic(const Job& job) { return job.periodic.has_value(); }
bool is_parameterized(const Job& job) { return job.parameterized_job.has_value() && !job.dispatched; }
bool is_active_periodic(const Job& job) {
  return is_periodic(job) && job.periodic->enabled && !job.stop && !is_parameterized(job);
}
Job untagged(const Job& job) {
  Job out = job;
  out.version_tag = {};
  return out;
}

std::string count_problem(const TaskGroup& group) {
  if (group.count > kCountMax) return "a count of " + std::to_string(group.count);
  if (group.update && group.update->canary > kCountMax) return std::to_string(group.update->canary) + " canaries";
  return "";
}

bool has_update_strategy(const TaskGroup& group) { return group.update && !group.update->empty(); }
bool replaces_on_disconnect(const TaskGroup* group) {
  return !group || !group->disconnect || group->disconnect->replace.value_or(true);
}
Duration lost_after(const TaskGroup& group) { return group.disconnect ? group.disconnect->lost_after : 0; }
std::optional<Duration> stop_on_client_after(const TaskGroup& group) {
  return group.disconnect ? group.disconnect->stop_on_client_after : std::nullopt;
}

bool is_terminal_evaluation(std::string_view status) {
  return status == "complete" || status == "failed" || status == "canceled";
}
bool is_active_deployment(std::string_view status) {
  return status == "running" || status == "paused" || status == "blocked" || status == "unblocking" ||
         status == "initializing" || status == "pending";
}
bool requires_promotion(const Deployment& deployment) {
  if (deployment.status != "running") return false;
  return std::any_of(deployment.task_groups.begin(), deployment.task_groups.end(), [](const auto& entry) {
    return entry.second && entry.second->desired_canaries > 0 && !entry.second->promoted;
  });
}
bool has_auto_promote(const Deployment& deployment) {
  if (deployment.status != "running" || deployment.task_groups.empty()) return false;
  return std::none_of(deployment.task_groups.begin(), deployment.task_groups.end(), [](const auto& entry) {
    return entry.second && entry.second->desired_canaries > 0 && !entry.second->auto_promote;
  });
}
bool has_placed_canaries(const Deployment& deployment) {
  return std::any_of(deployment.task_groups.begin(), deployment.task_groups.end(),
                     [](const auto& entry) { return entry.second && !entry.second->placed_canaries.empty(); });
}

bool is_server_terminal(const Allocation& alloc) {
  return is_server_terminal(parse_desired_status(alloc.desired_status));
}
bool is_client_terminal(const Allocation& alloc) {
  return is_client_terminal(parse_client_status(alloc.client_status));
}
bool is_terminal(const Allocation& alloc) { return is_server_terminal(alloc) || is_client_terminal(alloc); }

bool ran_successfully(const Allocation& alloc) {
  if (alloc.task_states.empty()) return false;
  return std::all_of(alloc.task_states.begin(), alloc.task_states.end(), [](const auto& entry) {
    return entry.second && entry.second->state == "dead" && !entry.second->failed;
  });
}

const TaskGroup* group_of(const Allocation& alloc) { return alloc.job ? alloc.job->group(alloc.task_group) : nullptr; }

bool should_migrate_data(const Allocation& alloc) {
  if (alloc.previous_allocation.empty() || is_server_terminal(alloc)) return false;
  const TaskGroup* group = group_of(alloc);
  return group && group->ephemeral_disk && group->ephemeral_disk->migrate;
}

bool is_set(const std::optional<bool>& flag) { return flag.value_or(false); }
bool has_health(const Allocation& alloc) { return alloc.deployment_status && alloc.deployment_status->healthy; }
bool is_healthy(const Allocation& alloc) { return has_health(alloc) && *alloc.deployment_status->healthy; }
bool is_unhealthy(const Allocation& alloc) { return has_health(alloc) && !*alloc.deployment_status->healthy; }
bool is_canary(const Allocation& alloc) { return alloc.deployment_status && alloc.deployment_status->canary; }

std::optional<Duration> max_run_duration(const Allocation& alloc) {
  const TaskGroup* group = group_of(alloc);
  if (!group || group->max_run_duration.value_or(0) <= 0) return std::nullopt;
  if (alloc.job->type != "batch" && alloc.job->type != "sysbatch") return std::nullopt;
  return group->max_run_duration;
}

bool max_run_expired(const Allocation& alloc, std::int64_t now) {
  const auto duration = max_run_duration(alloc);
  if (!duration || alloc.create_time == 0) return false;
  if (alloc.desired_status != "run" || alloc.client_status != "running") return false;
  return wrap_add(alloc.create_time, *duration) <= now;
}

Time last_event_time(const Allocation& alloc) {
  Time latest;
  for (const auto& [name, state] : alloc.task_states)
    if (state) latest = std::max(latest, state->finished_at);
  return latest.is_zero() ? Time{alloc.modify_time} : latest;
}

const ReschedulePolicy* reschedule_policy_of(const Allocation& alloc) {
  const TaskGroup* group = group_of(alloc);
  return group && group->reschedule_policy ? &*group->reschedule_policy : nullptr;
}

Duration next_delay(const Allocation& alloc) {  // R-MODEL-342
  const ReschedulePolicy* policy = reschedule_policy_of(alloc);
  if (!policy) return 0;
  const auto* events = events_of(alloc);
  if (!events || events->empty()) return policy->delay;
  const RescheduleEvent& last = events->back();
  Duration delay = policy->delay;
  if (policy->delay_function == "exponential") {
    delay = wrap_mul(last.delay, 2);
  } else if (policy->delay_function == "fibonacci") {
    if (events->size() >= 2) {
      const Duration before = (*events)[events->size() - 2].delay;
      // A reset right after a delay of exactly the maximum restarts the series (W-9).
      delay = before == policy->max_delay && last.delay == policy->delay ? last.delay : wrap_add(last.delay, before);
    }
  } else {
    return policy->delay;
  }
  if (policy->max_delay > 0 && delay > policy->max_delay) {
    delay = policy->max_delay;
    if (difference(last_event_time(alloc), last.reschedule_time) > delay) delay = policy->delay;
  }
  return delay;
}

Attempts count_attempts(const Allocation& alloc, const ReschedulePolicy* policy, Time fail_time) {
  if (!policy) return {};
  Attempts out{0, policy->attempts};
  const auto* events = events_of(alloc);
  if (!events || policy->attempts <= 0) return out;
  for (const RescheduleEvent& event : *events)
    if (difference(fail_time, event.reschedule_time) < policy->interval) ++out.attempted;
  return out;
}

bool is_reschedule_eligible(const Allocation& alloc, const ReschedulePolicy* policy, Time fail_time) {
  if (!policy || !policy->enabled()) return false;
  if (policy->unlimited) return true;
  const auto* events = events_of(alloc);
  if (!events || events->empty()) return true;
  return count_attempts(alloc, policy, fail_time).attempted < policy->attempts;
}

bool should_reschedule(const Allocation& alloc, const ReschedulePolicy* policy, Time fail_time) {
  return !is_server_terminal(alloc) && alloc.client_status == "failed" &&
         is_reschedule_eligible(alloc, policy, fail_time);
}

bool last_reschedule_failed(const Allocation& alloc) {
  if (!alloc.reschedule_tracker) return false;
  const std::string& last = alloc.reschedule_tracker->last_reschedule;
  return !last.empty() && last != "ok";
}

NextReschedule next_reschedule(const Allocation& alloc, const Quirks& quirks) {  // R-MODEL-347
  const ReschedulePolicy* policy = reschedule_policy_of(alloc);
  if (!policy || (policy->attempts == 0 && !policy->unlimited)) return {};
  if (alloc.desired_status == "stop" && !last_reschedule_failed(alloc)) return {};
  if (alloc.client_status != "failed" && alloc.client_status != "lost" &&
      !(alloc.job->type == "batch" && is_set(alloc.desired_transition.reschedule)))
    return {};
  const Time failed = last_event_time(alloc);
  if (failed.is_zero()) return {};
  return reschedule_after(alloc, *policy, failed, quirks);
}

NextReschedule next_reschedule_by_time(const Allocation& alloc, Time time, const Quirks& quirks) {
  const ReschedulePolicy* policy = reschedule_policy_of(alloc);
  return policy ? reschedule_after(alloc, *policy, time, quirks) : NextReschedule{};
}

RescheduleTracker replacement_tracker(const Allocation& previous, std::int64_t now) {  // R-MODEL-350
  static constexpr std::size_t kKeptWhenUnlimited = 5;
  const ReschedulePolicy* policy = reschedule_policy_of(previous);
  const std::int64_t attempts = policy ? policy->attempts : 0;
  RescheduleTracker out;
  auto& kept = out.events.emplace();
  if (const auto* events = events_of(previous)) {
    if (attempts > 0) {
      for (const RescheduleEvent& event : *events)
        if (policy->interval > 0 && difference(Time{now}, event.reschedule_time) <= policy->interval)
          kept.push_back(event);
    } else {
      const std::size_t skipped = events->size() > kKeptWhenUnlimited ? events->size() - kKeptWhenUnlimited : 0;
      kept.assign(events->begin() + static_cast<std::ptrdiff_t>(skipped), events->end());
    }
  }
  kept.push_back({now, previous.id, previous.node_id, next_delay(previous)});
  out.last_reschedule = "ok";
  return out;
}

bool should_client_stop(const Allocation& alloc) {
  const TaskGroup* group = group_of(alloc);
  return group && stop_on_client_after(*group).value_or(0) != 0;
}

Time wait_client_stop(const Allocation& alloc, std::int64_t now) {  // R-MODEL-356
  const TaskGroup* group = group_of(alloc);
  Time since{now};
  for (const AllocState& state : alloc.alloc_states)
    if (state.field == 0 && state.value == "lost") {
      since = state.time;
      break;
    }
  Duration kill_timeout = 5 * base::kSecond;
  Duration stop_after = 0;
  if (group) {
    for (const Task& task : group->tasks) kill_timeout = std::max(kill_timeout, task.kill_timeout);
    stop_after = stop_on_client_after(*group).value_or(0);
  }
  return plus(since, wrap_add(stop_after, kill_timeout));
}

std::int64_t disconnect_timeout(const Allocation& alloc, std::int64_t now) {
  const TaskGroup* group = group_of(alloc);
  return group ? wrap_add(now, lost_after(*group)) : now;
}

Time last_unknown(const Allocation& alloc) {  // R-MODEL-358
  Time earliest;
  bool in_run = false;
  for (auto state = alloc.alloc_states.rbegin(); state != alloc.alloc_states.rend(); ++state) {
    if (state->field != 0) continue;
    if (state->value == "unknown") {
      earliest = state->time;  // first of the run in list order, whatever its time
      in_run = true;
    } else if (in_run) {
      break;
    }
  }
  return earliest;
}

bool is_expired(const Allocation& alloc, std::int64_t now) {
  if (alloc.client_status != "unknown") return false;
  const TaskGroup* group = group_of(alloc);
  if (!group) return false;
  const Time since = last_unknown(alloc);
  return !since.is_zero() && plus(since, lost_after(*group)) <= Time{now};
}

bool needs_to_reconnect(const Allocation& alloc) {  // R-MODEL-360
  for (auto state = alloc.alloc_states.rbegin(); state != alloc.alloc_states.rend(); ++state)
    if (state->field == 0 && !state->value.empty()) return state->value == "unknown";
  return false;
}

bool replaces_on_disconnect(const Allocation& alloc) { return replaces_on_disconnect(group_of(alloc)); }

std::string_view followup_to_cancel(const Allocation& alloc, std::string_view status) {
  if (status != "running" && status != "complete" && status != "failed") return {};
  return needs_to_reconnect(alloc) ? std::string_view(alloc.followup_eval_id) : std::string_view();
}

void note_client_status(Allocation& alloc, std::int64_t now) {
  alloc.alloc_states.push_back({0, alloc.client_status, Time{now}});
}

void become_unknown(Allocation& alloc, std::int64_t now) {
  alloc.client_status = "unknown";
  alloc.client_description = kUnknownNode;
  note_client_status(alloc, now);
}

Time last_start(const Allocation& alloc, const std::string& task) {
  const auto entry = alloc.task_states.find(task);
  if (entry == alloc.task_states.end() || !entry->second) return {};
  return entry->second->restarts > 0 ? entry->second->last_restart : entry->second->started_at;
}

std::string check_enforced_index(const Job* stored, std::uint64_t index) {
  const std::string text = "Enforcing job modify index " + std::to_string(index);
  if (stored && index == 0) return text + ": job already exists";
  if (!stored && index != 0) return text + ": job does not exist";
  if (stored && index != stored->job_modify_index)
    return text + ": job exists with conflicting job modify index: " + std::to_string(stored->job_modify_index);
  return "";
}

}  // namespace berth::model
