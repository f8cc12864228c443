// Allocations on a client: start, updates, effects of task changes on the other tasks, health, end.
#include "client/clients.h"
#include "model/job.h"

namespace berth::client {

AllocFailure Clients::failure_of(const AllocRun& a) const {
  const TaskModel& model = config_.tasks;
  if (model.alloc_failure == nullptr) return AllocFailure::none;
  return model.alloc_failure(
      model.context, {a.alloc, a.job, a.group, 0, a.name_index, 0, specs_[a.spec].type, specs_[a.spec].job.get()});
}

// --- rows ---

std::uint32_t Clients::spec_of(const ServerAlloc& s) {
  const std::uint64_t key = static_cast<std::uint64_t>(s.job) << 32 | s.group;
  const model::Job& job = **s.spec;
  const auto made_of = std::pair(job.create_index, job.version);
  if (const auto found = by_group_.find(key); found != by_group_.end()) {
    if (specs_[found->second].made_of == made_of) return found->second;
    by_group_.erase(found);  // the row now holds another version; running allocations keep the old one
  }
  std::uint32_t spec = static_cast<std::uint32_t>(specs_.size());
  if (free_specs_.empty())
    specs_.emplace_back();
  else
    spec = free_specs_.back(), free_specs_.pop_back();
  read_group(job, job.task_groups[s.group], config_.groups, specs_[spec]);
  specs_[spec].job = *s.spec;
  specs_[spec].migration.check_poll_ns = specs_[spec].deployment.check_poll_ns = config_.timing.check_poll_ns;
  specs_[spec].made_of = made_of;
  specs_[spec].holders = 0;
  by_group_.emplace(key, spec);
  return spec;
}

void Clients::release_spec(const AllocRun& a) {
  if (--specs_[a.spec].holders > 0) return;
  const auto found = by_group_.find(static_cast<std::uint64_t>(a.job) << 32 | a.group);
  if (found != by_group_.end() && found->second == a.spec) by_group_.erase(found);
  specs_[a.spec].job.reset();
  free_specs_.push_back(a.spec);
}

std::uint32_t Clients::take_tasks(std::size_t count) {
  live_tasks_ += count;
  if (count >= free_tasks_.size()) free_tasks_.resize(count + 1);
  if (!free_tasks_[count].empty()) {
    const std::uint32_t first = free_tasks_[count].back();
    free_tasks_[count].pop_back();
    return first;
  }
  const auto first = static_cast<std::uint32_t>(task_runs_.size());
  task_runs_.resize(first + count), statuses_.resize(first + count);
  return first;
}

/// Copies the server's desired state of an allocation, and its status there.
void Clients::take(AllocRun& a, const ServerAlloc& s) {
  a.alloc_modify_index = s.alloc_modify_index;
  a.server_terminal = s.terminal();
  a.server_lost = s.client == tables::Client::lost;
  a.migrate = s.migrate, a.no_shutdown_delay = s.no_shutdown_delay;
  if (a.deployment != s.deployment) {  // R-CTRL-1570
    a.deployment = s.deployment;
    a.health = Health::unknown, a.health_at = kNoTime, a.health_known = false;
  }
  a.health_known |= s.has_health;
}

void Clients::add(NodeRow node, const ServerAlloc& s, const ServerAllocs& all, std::int64_t now) {
  std::uint32_t run = static_cast<std::uint32_t>(runs_.size());
  if (free_runs_.empty())
    runs_.emplace_back();
  else
    run = free_runs_.back(), free_runs_.pop_back();
  ClientRow& c = clients_[node];
  AllocRun& a = runs_[run];
  a = AllocRun();
  a.alloc = s.alloc, a.job = s.job, a.group = s.group, a.name_index = s.name_index, a.client = node;
  a.create_time = s.create_time;
  a.spec = spec_of(s);
  ++specs_[a.spec].holders;
  const GroupSpec& spec = specs_[a.spec];
  a.tasks = take_tasks(spec.tasks.size());
  for (std::uint32_t i = 0; i < spec.tasks.size(); ++i) {
    statuses_[a.tasks + i] = TaskStatus();
    TaskRun& t = task_runs_[a.tasks + i];
    t = TaskRun();
    t.restarts.interval_start_ns = now;  // R-CTRL-1524
    t.alloc = run, t.phase = TaskPhase::idle;
    if (!spec.tasks[i].remote || i >= s.handles_count) continue;
    const Handle& handle = all.handles[s.handles_begin + i];
    t.work = handle.work, t.exit_at = handle.exit_at, t.exit_code = handle.exit_code, t.has_handle = handle.work != 0;
  }
  a.deployment = s.deployment;
  take(a, s);
  if (config_.journal) {
    journal_.begin(s.alloc, spec.tasks.size(), s.log);
    for (std::size_t i = 0; i < spec.tasks.size() && !s.log; ++i)
      journal_.add(s.alloc, i, {TaskLogEvent::Kind::received, 0, now, 0, ""});
  }
  if (s.alloc >= by_alloc_.size()) by_alloc_.resize(s.alloc + 1, kNo);
  by_alloc_[s.alloc] = run;
  ++known_allocs_;
  a.next_of_client = c.allocs;
  if (c.allocs != kNo) runs_[c.allocs].prev_of_client = run;
  c.allocs = run;
  a.phase = Phase::blocked;
  ++c.blocked;

  const AllocFailure failure = failure_of(a);
  if (failure == AllocFailure::not_added) {  // R-CTRL-1505
    a.has_forced = true, a.forced = {tables::Client::failed, Description::not_added};
    a.health = Health::unhealthy, a.health_known = true;
    return fail_all(run, TaskEvent::none, now);
  }
  a.added = true;
  if (spec.stop_after_ns > 0) {  // R-CTRL-1550, 1551
    a.counts_stop_after = true;
    count_stop_after(c);
    arm_stop_after(c, node, now);
  }
  for (std::uint32_t i = 0; i < s.upstream_count; ++i) {  // R-CTRL-1510
    const Upstream& up = all.upstream[s.upstream_begin + i];
    const std::uint32_t found = run_of(up.alloc);
    const bool here = found != kNo && runs_[found].client == node;
    const bool over = here ? runs_[found].terminal_at != kNoTime
                           : up.gone || tables::client_terminal(up.status) || up.status == tables::Client::unknown;
    if (!over) wait_for(run, up.alloc);
  }
  if (s.statuses_count > 0) resume(run, all.statuses.data() + s.statuses_begin, now);
  if (a.waits_left == 0) begin(run, now);
  // If a resumed allocation is as the server has it, there is nothing to report (R-CTRL-1531, 1533).
  if (s.statuses_count > 0 && a.phase == Phase::running && a.sequence == 1 && a.status.status == s.client)
    a.acknowledged = a.sequence, a.acknowledged_status = s.client, a.was_acknowledged = true;
}

/// Tasks continue from their recorded statuses: running ones end at the time they would have.
void Clients::resume(std::uint32_t run, const TaskStatus* statuses, std::int64_t now) {
  const AllocRun& a = runs_[run];
  for (std::uint32_t i = 0; i < task_count(a); ++i) {
    const std::uint32_t task = a.tasks + i;
    TaskRun& t = task_runs_[task];
    statuses_[task] = statuses[i];
    t.run = statuses[i].restarts;
    if (statuses[i].state == TaskState::dead) t.phase = TaskPhase::dead, ++t.run;
    if (statuses[i].state != TaskState::running) continue;
    const Outcome outcome = config_.tasks.outcome(config_.tasks.context, start_of(t, task));
    ++t.run;
    t.kill_ns = outcome.kill_ns, t.recovered = outcome.recovered;
    t.run_ns = outcome.run_ns, t.exit_code = outcome.exit_code;
    t.exit_fails = outcome.exit_code != 0 || outcome.exit_signal != 0 || !outcome.exit_message.empty();
    t.phase = TaskPhase::running;
    if (outcome.run_ns == kEndless) continue;
    t.exit_at = std::max(now, statuses[i].started_at + outcome.run_ns);
    arm_task(task, t.exit_at);
  }
}

void Clients::begin(std::uint32_t run, std::int64_t now) {
  AllocRun& a = runs_[run];
  a.phase = Phase::running;
  --clients_[a.client].blocked;
  limit_run(run, now);
  if (failure_of(a) == AllocFailure::setup) return fail_all(run, TaskEvent::setup_failed, now);  // R-CTRL-1512
  watch(run, now);
  settle(run, now);
}

/// An answer lists a known allocation with a higher index (R-CTRL-1504).
void Clients::update(std::uint32_t run, const ServerAlloc& s, std::int64_t now) {
  AllocRun& a = runs_[run];
  a.alloc_modify_index = s.alloc_modify_index;
  if (!a.added) return;                                               // R-CTRL-1501
  if (s.client == tables::Client::unknown && !s.server_terminal()) {  // R-CTRL-1560, 1561
    for (std::uint32_t i = 0; i < task_count(a); ++i) {
      mark(a.tasks + i, TaskEvent::reconnected, now);
      log_reason(run, i, TaskEvent::reconnected, now);
    }
    return touch(run, now);
  }
  take(a, s);
  const std::int64_t max_run_before = specs_[a.spec].max_run_ns, stop_after_before = specs_[a.spec].stop_after_ns;
  if (a.job != s.job || a.group != s.group) {
    const std::uint32_t spec = spec_of(s);
    ++specs_[spec].holders;
    if (specs_[spec].tasks.size() == task_count(a)) {  // an in-place update keeps the set of tasks
      release_spec(a);
      a.spec = spec, a.job = s.job, a.group = s.group;
    } else {
      AllocRun other;
      other.spec = spec, other.job = s.job, other.group = s.group;
      release_spec(other);
    }
  }
  if (a.phase == Phase::done) return;
  if (a.server_terminal || specs_[a.spec].max_run_ns != max_run_before) limit_run(run, now);  // R-REG-481
  if (a.server_terminal) {
    // Tasks that end before the watched health is decided count as unhealthy, contrary to R-CTRL-1576.
    if (a.health_row != kNo) {
      const bool counts = a.phase == Phase::running && a.health == Health::unknown;
      end_watch(run);
      if (counts) a.health = Health::unhealthy, a.health_at = now, a.health_known = true;
    }
    return kill(run, a.phase == Phase::blocked ? KillScope::all : KillScope::tasks, TaskEvent::killed, now);
  }
  const bool counts = specs_[a.spec].stop_after_ns > 0;
  if (counts != a.counts_stop_after || specs_[a.spec].stop_after_ns != stop_after_before) {
    ClientRow& c = clients_[a.client];
    a.counts_stop_after = counts;
    count_stop_after(c);
    arm_stop_after(c, a.client, now);
  }
  watch(run, now);
}

/// The server no longer has the allocation: kills its tasks and reports nothing (R-CTRL-1502).
void Clients::drop(std::uint32_t run, std::int64_t now) {
  AllocRun& a = runs_[run];
  if (a.gone) return;
  a.gone = true;
  if (a.row_is_free)
    --clients_[a.client].orphans;
  else
    by_alloc_[a.alloc] = kNo, --known_allocs_;
  if (a.phase == Phase::done) return release_if_over(run);
  kill(run, a.phase == Phase::blocked ? KillScope::all : KillScope::tasks, TaskEvent::killed, now);
}

void Clients::release_if_over(std::uint32_t run) {
  const AllocRun& a = runs_[run];
  if (a.phase == Phase::done && !a.is_pending && !a.in_flight && !is_news(a)) release(run);
}

void Clients::forget_timers(std::uint32_t run) {
  AllocRun& a = runs_[run];
  end_watch(run);
  timers_.cancel(a.max_run);
  for (std::uint32_t i = 0; i < task_count(a); ++i) timers_.cancel(task_runs_[a.tasks + i].timer);
}

void Clients::release(std::uint32_t run) {
  AllocRun& a = runs_[run];
  ClientRow& c = clients_[a.client];
  forget_timers(run);
  unwait(run);
  (a.prev_of_client == kNo ? c.allocs : runs_[a.prev_of_client].next_of_client) = a.next_of_client;
  if (a.next_of_client != kNo) runs_[a.next_of_client].prev_of_client = a.prev_of_client;
  if (!a.gone && !a.row_is_free) by_alloc_[a.alloc] = kNo, --known_allocs_;
  if (!a.gone && a.row_is_free) --c.orphans;
  const std::size_t count = task_count(a);
  live_tasks_ -= count;
  free_tasks_[count].push_back(a.tasks);
  release_spec(a);
  a = AllocRun();
  free_runs_.push_back(run);
}

// --- a restarted process (R-CTRL-1563 to 1566) ---

void Clients::restore(std::uint32_t run, Recovery recovery, std::int64_t now) {
  AllocRun& a = runs_[run];
  if (a.phase == Phase::done) return;
  if (a.phase == Phase::blocked) return drop(run, now);  // no task has a state; if listed, it is added again
  if (failure_of(a) == AllocFailure::not_restored) {
    a.has_forced = true, a.forced = {tables::Client::failed, Description::not_restored};
    return fail_all(run, TaskEvent::restoring_failed, now);
  }
  restore_tasks(run, recovery, now);
  a.kill = KillScope::none;
  if (a.server_terminal || a.gone) order_kill(run, KillScope::tasks, TaskEvent::killed, now);
  limit_run(run, now);  // R-REG-483
  a.counts_stop_after = specs_[a.spec].stop_after_ns > 0;
  watch(run, now);
  settle(run, now);
}

void Clients::restore_tasks(std::uint32_t run, Recovery recovery, std::int64_t now) {
  const AllocRun& a = runs_[run];
  const bool terminal = a.server_terminal || a.terminal_at != kNoTime;
  for (std::uint32_t i = 0; i < task_count(a); ++i) {
    const std::uint32_t task = a.tasks + i;
    TaskRun& t = task_runs_[task];
    if (t.phase == TaskPhase::dead) continue;
    t.restarts = {now, 0};  // R-CTRL-1524
    if (t.phase == TaskPhase::uncontacted) --clients_[a.client].uncontacted;
    if (statuses_[task].state != TaskState::running) {  // counts as recovered (R-CTRL-1564) and continues
      t.phase = TaskPhase::idle;
      continue;
    }
    t.kill_at = kNever;
    if (recovery == Recovery::all || (recovery == Recovery::by_model && t.recovered)) {
      t.phase = TaskPhase::running, t.reattached = true;
      const Outcome outcome = config_.tasks.outcome(config_.tasks.context, start_of(t, task));
      t.kill_ns = std::max(t.kill_ns, outcome.recovered_kill_ns);
      t.detached |= detaches(a, task);                                    // R-SEED-20
      if (t.exit_at != kNever) arm_task(task, std::max(now, t.exit_at));  // exits during the downtime are seen now
      continue;
    }
    t.work = 0, t.exit_at = kNever;  // the driver destroys it (R-CTRL-1565)
    mark(task, TaskEvent::restoring_failed, now);
    log_reason(t.alloc, i, TaskEvent::restoring_failed, now);
    if (terminal) {
      die(task, false, TaskEvent::killed, now);
      continue;
    }
    statuses_[task].state = TaskState::pending;
    t.phase = TaskPhase::idle;
    if (specs_[a.spec].type == JobType::system) continue;
    t.phase = TaskPhase::uncontacted;
    ++clients_[a.client].uncontacted;
  }
}

// --- effects of task changes ---

void Clients::kill(std::uint32_t run, KillScope scope, TaskEvent why, std::int64_t now) {
  if (runs_[run].phase == Phase::done || runs_[run].kill >= scope) return;
  order_kill(run, scope, why, now);
  settle(run, now);
}

void Clients::order_kill(std::uint32_t run, KillScope scope, TaskEvent why, std::int64_t now) {
  AllocRun& a = runs_[run];
  a.kill = std::max(a.kill, scope);
  for (std::uint32_t i = 0; i < task_count(a); ++i)
    if (task_runs_[a.tasks + i].phase != TaskPhase::dead && specs_[a.spec].roles[i].hook != Hook::poststop) {
      mark(a.tasks + i, why, now);
      log_reason(run, i, why, now);
    }
}

void Clients::fail_all(std::uint32_t run, TaskEvent why, std::int64_t now) {
  const AllocRun& a = runs_[run];
  for (std::uint32_t i = 0; i < task_count(a); ++i)
    if (task_runs_[a.tasks + i].phase != TaskPhase::dead) {
      log_reason(run, i, why, now);
      die(a.tasks + i, true, why, now);
    }
  settle(run, now);
}

/// Logs an event that affects a task from outside.
void Clients::log_reason(std::uint32_t run, std::size_t place, TaskEvent why, std::int64_t now) {
  if (!config_.journal) return;
  using Kind = TaskLogEvent::Kind;
  TaskLogEvent event{Kind::killed, 0, now, 0, ""};
  const AllocRun& a = runs_[run];
  switch (why) {
    case TaskEvent::sibling_failed:
      event.kind = Kind::sibling_failed;
      for (std::uint32_t i = 0; i < task_count(a); ++i)
        if (statuses_[a.tasks + i].failed) event.text = specs_[a.spec].tasks[i].name;
      break;
    case TaskEvent::leader_dead:
      event.kind = Kind::leader_dead;
      break;
    case TaskEvent::main_tasks_dead:
      event.kind = Kind::main_tasks_dead;
      break;
    case TaskEvent::reconnected:
      event.kind = Kind::reconnected;
      break;
    case TaskEvent::restoring_failed:
      event.kind = Kind::restoring_failed;
      break;
    case TaskEvent::setup_failed:
      event.kind = Kind::setup_failure;
      break;
    default:
      return;  // logged elsewhere
  }
  log(run, place, std::move(event));
}

/// Logs that the deployment considers the allocation unhealthy.
void Clients::log_unhealthy(std::uint32_t run, std::int64_t now) {
  const AllocRun& a = runs_[run];
  if (a.deployment == tables::kNoRow) return;
  for (std::uint32_t i = 0; i < task_count(a) && config_.journal; ++i) {
    const TaskStatus& status = statuses_[a.tasks + i];
    if (status.failed)
      log(run, i, {TaskLogEvent::Kind::alloc_unhealthy, 0, now, 0, "Unhealthy because of failed task"});
  }
}

/// Orders a kill if the end of one task ends the others (R-CTRL-1515). Poststop tasks neither cause nor undergo it.
bool Clients::find_reason_to_kill(std::uint32_t run, std::int64_t now) {
  const AllocRun& a = runs_[run];
  bool failed = false, leader_dead = false, others = false, sidecars = false;
  for (std::uint32_t i = 0; i < task_count(a); ++i) {
    const TaskRole role = specs_[a.spec].roles[i];
    if (role.hook == Hook::poststop) continue;
    if (task_runs_[a.tasks + i].phase != TaskPhase::dead) {
      (role.sidecar ? sidecars : others) = true;
    } else {
      failed |= statuses_[a.tasks + i].failed;
      leader_dead |= role.leader;
    }
  }
  if (!others && !sidecars) return false;
  if (failed)
    order_kill(run, KillScope::tasks, TaskEvent::sibling_failed, now);
  else if (leader_dead)
    order_kill(run, KillScope::tasks, TaskEvent::leader_dead, now);
  else if (!others)
    order_kill(run, KillScope::tasks, TaskEvent::main_tasks_dead, now);
  else
    return false;
  return true;
}

/// After any change of an allocation's tasks: kills and starts tasks as needed, then updates status, health and report.
void Clients::settle(std::uint32_t run, std::int64_t now) {
  AllocRun& a = runs_[run];
  const auto count = static_cast<std::uint32_t>(task_count(a));
  for (bool again = true; again;) {
    again = a.kill == KillScope::none && find_reason_to_kill(run, now);
    if (a.kill != KillScope::none) again |= kill_step(run, now);
    for (std::uint32_t i = 0; i < count && a.phase == Phase::running; ++i) {
      if (task_runs_[a.tasks + i].phase != TaskPhase::idle || !stage_is_open(a, i)) continue;
      start_task(a.tasks + i, now);
      again = true;
    }
  }
  bool all_dead = true;
  for (std::uint32_t i = 0; i < count; ++i) all_dead &= task_runs_[a.tasks + i].phase == TaskPhase::dead;
  a.status = a.has_forced ? a.forced : alloc_status(statuses(a));
  observe(run, now);
  if (a.status.status == tables::Client::failed && a.deployment != tables::kNoRow && !a.health_known)
    a.health = Health::unhealthy, a.health_at = kNoTime, a.health_known = true;  // R-CTRL-1518
  const bool ends = a.terminal_at == kNoTime && tables::client_terminal(a.status.status);
  if (ends) a.terminal_at = now;
  touch(run, now);
  if (ends && !a.row_is_free) resolve(a.alloc, a.client, true, now);
  if (all_dead) finish(run);  // may free the row
}

/// The tasks are dead: only the report remains.
void Clients::finish(std::uint32_t run) {
  AllocRun& a = runs_[run];
  ClientRow& c = clients_[a.client];
  if (a.phase == Phase::blocked) --c.blocked, unwait(run);
  a.phase = Phase::done;
  forget_timers(run);
  if (std::exchange(a.counts_stop_after, false)) {
    count_stop_after(c);
    if (c.stop_after_ns == 0) timers_.cancel(c.stop_after);
  }
  release_if_over(run);
}

/// Sets or cancels the timer of the group's max_run_duration (R-REG-480, 481). A deadline in the past is due now.
void Clients::limit_run(std::uint32_t run, std::int64_t now) {
  AllocRun& a = runs_[run];
  timers_.cancel(a.max_run);
  const std::int64_t limit = specs_[a.spec].max_run_ns;
  if (limit <= 0 || a.create_time <= 0 || a.create_time > kNever - 1 - limit || a.phase != Phase::running ||
      a.server_terminal || a.gone)
    return;
  if (a.terminal_at != kNoTime && !a.has_forced) return;
  a.max_run = timers_.set(std::max(now, a.create_time + limit), kMaxRun, run);
}

void Clients::on_max_run(std::uint32_t run, std::int64_t now) {  // R-CTRL-1519, R-REG-482
  AllocRun& a = runs_[run];
  if (a.terminal_at == kNoTime)
    a.has_forced = true, a.forced = {tables::Client::complete, Description::max_run_exceeded};
  kill(run, KillScope::all, TaskEvent::max_run_exceeded, now);
}

// --- waiting for upstream allocations (R-CTRL-1510) ---

void Clients::wait_for(std::uint32_t run, AllocRow upstream) {
  std::uint32_t row = static_cast<std::uint32_t>(wait_rows_.size());
  if (free_waits_.empty())
    wait_rows_.emplace_back();
  else
    row = free_waits_.back(), free_waits_.pop_back();
  const auto [head, is_new] = waits_.try_emplace(upstream, kNo);
  wait_rows_[row] = {upstream, run, head->second, runs_[run].waits};
  head.value() = row;
  runs_[run].waits = row;
  ++runs_[run].waits_left;
}

/// Removes one wait from both of its lists.
void Clients::end_wait(std::uint32_t row) {
  const Wait wait = wait_rows_[row];
  const auto head = waits_.find(wait.upstream);
  std::uint32_t* link = &head.value();
  while (*link != row) link = &wait_rows_[*link].next_of_upstream;
  *link = wait.next_of_upstream;
  if (head.value() == kNo) waits_.erase(head);
  link = &runs_[wait.run].waits;
  while (*link != row) link = &wait_rows_[*link].next_of_run;
  *link = wait.next_of_run;
  --runs_[wait.run].waits_left;
  wait_rows_[row] = {};
  free_waits_.push_back(row);
}

void Clients::unwait(std::uint32_t run) {
  while (runs_[run].waits != kNo) end_wait(runs_[run].waits);
}

/// `upstream` on the client `holder` is over: resumes allocations that wait for it there (`local`), or elsewhere.
void Clients::resolve(AllocRow upstream, NodeRow holder, bool local, std::int64_t now) {
  while (true) {
    const auto head = waits_.find(upstream);
    if (head == waits_.end()) return;
    std::uint32_t row = head->second;
    while (row != kNo && (runs_[wait_rows_[row].run].client == holder) != local) row = wait_rows_[row].next_of_upstream;
    if (row == kNo) return;
    const std::uint32_t run = wait_rows_[row].run;
    end_wait(row);
    const AllocRun& a = runs_[run];
    const ClientRow& c = clients_[a.client];
    if (a.waits_left == 0 && c.up && (local || c.listening)) begin(run, now);
  }
}

void Clients::upstream_changed(const Upstream& up, std::int64_t now) {
  if (!up.gone && !tables::client_terminal(up.status) && up.status != tables::Client::unknown) return;
  const std::uint32_t here = run_of(up.alloc);
  resolve(up.alloc, here == kNo ? NodeRow(tables::kNoRow) : runs_[here].client, false, now);
}

NodeRow Clients::row_freed(AllocRow alloc, std::int64_t now) {
  journal_.forget(alloc);
  const std::uint32_t run = run_of(alloc);
  if (run == kNo) return tables::kNoRow;
  AllocRun& a = runs_[run];
  const NodeRow client = a.client;
  resolve(alloc, client, true, now);
  by_alloc_[alloc] = kNo, --known_allocs_;
  a.row_is_free = true;
  ++clients_[client].orphans;
  release_if_over(run);
  return client;
}

// --- health (R-CTRL-1570 to 1576) ---

void Clients::watch(std::uint32_t run, std::int64_t now) {
  AllocRun& a = runs_[run];
  end_watch(run);
  if (a.phase != Phase::running || a.server_terminal || a.gone || a.health_known || a.terminal_at != kNoTime) return;
  const GroupSpec& spec = specs_[a.spec];
  const bool deployed = a.deployment != tables::kNoRow;
  if (!(deployed ? spec.watched_in_deployment : spec.watched)) return;
  a.health_row = static_cast<std::uint32_t>(health_.size());
  if (free_health_.empty())
    health_.emplace_back();
  else
    a.health_row = free_health_.back(), free_health_.pop_back();
  HealthRow& row = health_[a.health_row];
  row = {HealthTracker(deployed ? spec.deployment : spec.migration, now), kNoTimer};
  if (a.checks == CheckOutcome::never) row.tracker.fail_checks();
  observe(run, now);
}

void Clients::end_watch(std::uint32_t run) {
  AllocRun& a = runs_[run];
  if (a.health_row == kNo) return;
  timers_.cancel(health_[a.health_row].timer);
  free_health_.push_back(a.health_row);
  a.health_row = kNo;
}

/// Passes the tasks' current statuses to the health tracker.
void Clients::observe(std::uint32_t run, std::int64_t now) {
  AllocRun& a = runs_[run];
  if (a.health_row == kNo) return;
  HealthRow& row = health_[a.health_row];
  const Health health = row.tracker.observe(statuses(a), specs_[a.spec].roles,
                                            a.status.status == tables::Client::failed, a.server_terminal, now);
  if (health != Health::unknown) return conclude_health(run, health);
  if (const std::int64_t next = row.tracker.next_deadline(); next != kNever)
    arm(row.timer, next, kHealth, run);
  else
    timers_.cancel(row.timer);
}

void Clients::on_health(std::uint32_t run, std::int64_t now) {
  HealthRow& row = health_[runs_[run].health_row];
  const Health health = row.tracker.advance(now);
  if (health == Health::unknown) {
    if (const std::int64_t next = row.tracker.next_deadline(); next != kNever) arm(row.timer, next, kHealth, run);
    return;
  }
  conclude_health(run, health);
  touch(run, now);
}

void Clients::conclude_health(std::uint32_t run, Health health) {
  AllocRun& a = runs_[run];
  if (health != Health::stopped) {  // R-CTRL-1576
    a.health = a.checks == CheckOutcome::unhealthy ? Health::unhealthy : health;
    a.health_at = health_[a.health_row].tracker.decided_at();
    a.health_known = true;
    if (a.health == Health::unhealthy) log_unhealthy(run, health_[a.health_row].tracker.decided_at());
  }
  end_watch(run);
}

}  // namespace berth::client
