#include "client/health.h"

#include <algorithm>

namespace berth::client {
namespace {

/// True if the task may end without making the allocation unhealthy (R-CTRL-1573).
bool may_finish(const TaskStatus& task, TaskRole role) {
  switch (role.hook) {
    case Hook::prestart:
      return !role.sidecar;
    case Hook::poststop:
      return true;
    case Hook::poststart:
      return task.successful();
    case Hook::main:
      return false;
  }
  return false;
}

}  // namespace

HealthTracker::HealthTracker(const HealthPolicy& policy, std::int64_t now)
    : policy_({.min_healthy_ns = std::max<std::int64_t>(policy.min_healthy_ns, 0),  // a loaded job may have less
               .deadline_ns = policy.deadline_ns,
               .checks = policy.checks,
               .check_poll_ns = policy.check_poll_ns}),
      began_at_(now),
      deadline_(policy.deadline_ns == kNever ? kNever : now + policy.deadline_ns),
      checks_changed_at_(now) {}

Health HealthTracker::decide(Health answer, std::int64_t at) {
  if (answer_ == Health::unknown) answer_ = answer, decided_at_ = at;
  return answer_;
}

Health HealthTracker::observe(std::span<const TaskStatus> tasks, std::span<const TaskRole> roles, bool failed,
                              bool stopped, std::int64_t now) {
  if (advance(now) != Health::unknown) return answer_;
  if (stopped) return decide(Health::stopped, now);
  if (failed) return decide(Health::unhealthy, now);
  bool pending = false;
  std::int64_t latest = kNoTime;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const TaskStatus& task = tasks[i];
    if (task.failed && task.state == TaskState::dead) return decide(Health::unhealthy, now);
    if (task.finished_at != kNoTime && !may_finish(task, roles[i])) return decide(Health::unhealthy, now);
    if (roles[i].hook == Hook::poststop) continue;  // R-CTRL-1574
    // A poststart task that succeeded no longer counts, so its end can move the latest start back.
    if (roles[i].hook == Hook::poststart && task.successful()) continue;
    pending |= task.state == TaskState::pending;
    latest = std::max(latest, task.started_at);
  }
  if (pending) {
    tasks_due_ = kNever, tasks_healthy_ = false, latest_start_ = kNoTime;
  } else if (latest != latest_start_) {
    latest_start_ = latest, tasks_healthy_ = false, tasks_due_ = now + policy_.min_healthy_ns;
  }
  return advance(now);
}

void HealthTracker::set_checks_pass(bool pass, std::int64_t now) {
  if (pass == checks_pass_) return;
  checks_pass_ = pass, checks_changed_at_ = now;
}

void HealthTracker::fail_checks() {
  policy_.checks = true;
  checks_pass_ = polled_pass_ = false, checks_due_ = kNever;
}

std::int64_t HealthTracker::next_poll() const {
  if (!policy_.checks || polled_pass_ == checks_pass_) return kNever;
  if (policy_.check_poll_ns <= 0) return checks_changed_at_;
  const std::int64_t polls = (checks_changed_at_ - began_at_) / policy_.check_poll_ns;
  return began_at_ + (polls + 1) * policy_.check_poll_ns;
}

std::int64_t HealthTracker::next_deadline() const {
  if (answer_ != Health::unknown) return kNever;
  return std::min({deadline_, tasks_due_, checks_due_, next_poll()});
}

Health HealthTracker::advance(std::int64_t now) {
  while (answer_ == Health::unknown && next_deadline() <= now) {
    const std::int64_t at = next_deadline();
    if (tasks_due_ <= at) {
      tasks_due_ = kNever, tasks_healthy_ = true;
      if (!policy_.checks || (polled_pass_ && policy_.min_healthy_ns == 0)) return decide(Health::healthy, at);
    } else if (next_poll() <= at) {
      polled_pass_ = checks_pass_;
      checks_due_ = polled_pass_ ? at + policy_.min_healthy_ns : kNever;
    } else if (checks_due_ <= at) {
      if (tasks_healthy_) return decide(Health::healthy, at);
      // Due again every min_healthy_ns (R-CTRL-1575). That has no effect before another deadline, so skip to the next
      // one or to `now`: a clock that jumps by years costs one step.
      const std::int64_t wait = policy_.min_healthy_ns;
      const std::int64_t ahead = std::min({deadline_, tasks_due_, next_poll(), now}) - at;
      checks_due_ = wait <= 0 ? kNever : at + wait * std::max<std::int64_t>(1, ahead / wait + (ahead % wait != 0));
    } else {
      return decide(Health::unhealthy, at);
    }
  }
  return answer_;
}

}  // namespace berth::client
