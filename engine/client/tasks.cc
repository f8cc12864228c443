// One task: starting, ending, restarting, being killed (R-CTRL-1514 to 1527, R-SEED-13, 19, 20).
#include "client/clients.h"

namespace berth::client {

namespace {

/// Text of a task's kill event if it is not the usual one (R-REG-482).
std::string kill_text(bool is_forced, const AllocStatus& forced) {
  if (!is_forced || forced.description != Description::max_run_exceeded) return "";
  return std::string(to_text(Description::max_run_exceeded));
}

}  // namespace

void Clients::mark(std::uint32_t task, TaskEvent event, std::int64_t now) {
  statuses_[task].event = event, statuses_[task].event_at = now;
}

void Clients::arm_task(std::uint32_t task, std::int64_t at) { arm(task_runs_[task].timer, at, kTask, task); }

TaskStart Clients::start_of(const TaskRun& t, std::uint32_t task) const {
  const AllocRun& a = runs_[t.alloc];
  return {a.alloc, a.job, a.group, place(a, task), a.name_index, t.run, specs_[a.spec].type, specs_[a.spec].job.get()};
}

/// True if the remote task is left running because its allocation moves (R-SEED-20).
bool Clients::detaches(const AllocRun& a, std::uint32_t task) const {
  return specs_[a.spec].tasks[place(a, task)].remote && (a.server_lost || a.migrate);
}

/// True if the tasks before it have progressed far enough (R-CTRL-1514).
bool Clients::stage_is_open(const AllocRun& a, std::size_t task) const {
  const std::vector<TaskRole>& roles = specs_[a.spec].roles;
  const Hook hook = roles[task].hook;
  if (a.kill != KillScope::none && hook != Hook::poststop) return false;
  for (std::size_t i = 0; i < roles.size(); ++i) {
    const TaskStatus& other = statuses_[a.tasks + i];
    if (hook == Hook::main && roles[i].hook == Hook::prestart &&
        !(roles[i].sidecar ? other.state == TaskState::running : other.successful()))
      return false;
    if (hook == Hook::poststart && roles[i].hook == Hook::main && other.state == TaskState::pending) return false;
    if (hook == Hook::poststop && roles[i].hook != Hook::poststop && other.state != TaskState::dead) return false;
  }
  return true;
}

void Clients::start_task(std::uint32_t task, std::int64_t now) {
  TaskRun& t = task_runs_[task];
  AllocRun& a = runs_[t.alloc];
  const TaskStart start = start_of(t, task);
  const Outcome outcome = config_.tasks.outcome(config_.tasks.context, start);
  t.kill_ns = outcome.kill_ns, t.recovered = outcome.recovered;
  if (config_.journal && !a.row_is_free)
    journal_.set_texts(a.alloc, place(a, task),
                       {outcome.exit_signal, std::string(outcome.exit_message), std::string(outcome.start_message)});
  if (outcome.checks > a.checks) {
    a.checks = outcome.checks;
    if (a.checks == CheckOutcome::never && a.health_row != kNo) health_[a.health_row].tracker.fail_checks();
  }
  if (std::exchange(t.has_handle, false)) {  // R-SEED-19
    if (outcome.recovered) {
      t.phase = TaskPhase::running;
      t.exit_fails = t.exit_code != 0;
      t.detached |= detaches(a, task);
      statuses_[task].state = TaskState::running, statuses_[task].started_at = now;
      mark(task, TaskEvent::started, now);
      if (t.exit_at != kNever) arm_task(task, std::max(now, t.exit_at));
      return;
    }
    t.work = 0, t.exit_at = kNever;
  }
  if (t.run++ == 0) log(t.alloc, place(a, task), {TaskLogEvent::Kind::setup, 0, now, 0, ""});
  t.run_ns = outcome.run_ns, t.exit_code = outcome.exit_code, t.start_error = outcome.start_error;
  t.exit_fails = outcome.exit_code != 0 || outcome.exit_signal != 0 || !outcome.exit_message.empty();
  t.phase = TaskPhase::starting, t.reattached = false;
  if (outcome.start_delay_ns > 0)
    arm_task(task, now + outcome.start_delay_ns);
  else
    run_task(task, now);
}

void Clients::run_task(std::uint32_t task, std::int64_t now) {
  TaskRun& t = task_runs_[task];
  if (t.start_error != StartError::none) {
    mark(task, TaskEvent::not_started, now);
    log_no_start(task, now);
    return end_task(task, t.start_error == StartError::recoverable ? TaskEnd::not_started : TaskEnd::never_starts, now);
  }
  const AllocRun& a = runs_[t.alloc];
  t.phase = TaskPhase::running;
  t.exit_at = t.run_ns == kEndless ? kNever : now + t.run_ns;
  if (specs_[a.spec].tasks[place(a, task)].remote)
    t.work = base::mix64(static_cast<std::uint64_t>(a.alloc) << 32 | (place(a, task) << 16 ^ t.run)) | 1;
  statuses_[task].state = TaskState::running, statuses_[task].started_at = now;
  mark(task, TaskEvent::started, now);
  log(t.alloc, place(a, task), {TaskLogEvent::Kind::started, 0, now, 0, ""});
  if (t.exit_at != kNever) arm_task(task, t.exit_at);
}

void Clients::log_no_start(std::uint32_t task, std::int64_t now) {
  if (!config_.journal) return;
  const TaskRun& t = task_runs_[task];
  const std::size_t at = place(runs_[t.alloc], task);
  const std::string& why = journal_.texts(runs_[t.alloc].alloc, at).start_message;
  TaskLogEvent event{TaskLogEvent::Kind::driver_failure, 0, now, 0, why};
  if (t.start_error == StartError::refused) {
    event.kind = TaskLogEvent::Kind::failed_validation;
    event.text =
        "2 errors occurred:\n\t* failed to parse config: \n\t* Invalid label: No argument or block type is named \"" +
        why + "\".\n\n";
  }
  log(t.alloc, at, std::move(event));
}

/// Logs the end of a run of the task.
void Clients::log_end(std::uint32_t task, std::int32_t exit_code, std::int64_t now) {
  const TaskRun& t = task_runs_[task];
  const AllocRun& a = runs_[t.alloc];
  if (!config_.journal || a.row_is_free) return;
  const bool by_itself = t.phase == TaskPhase::running && !t.restart_asked && a.kill == KillScope::none;
  static const TaskJournal::Texts kNone;
  const TaskJournal::Texts& texts = by_itself ? journal_.texts(a.alloc, place(a, task)) : kNone;
  log(t.alloc, place(a, task), {TaskLogEvent::Kind::terminated, texts.exit_signal, now, exit_code, texts.exit_message});
}

void Clients::log_decision(std::uint32_t task, const RestartDecision& decision, std::int64_t now) {
  const TaskRun& t = task_runs_[task];
  if (!config_.journal || decision.state == RestartState::terminated) return;
  const AllocRun& a = runs_[t.alloc];
  const bool again = decision.state == RestartState::restarting;
  log(t.alloc, place(a, task),
      {again ? TaskLogEvent::Kind::restarting : TaskLogEvent::Kind::not_restarting, 0, now,
       again ? decision.wait_ns : 0, to_text(decision.reason, specs_[a.spec].tasks[place(a, task)].restart)});
}

/// The task exited by itself, or did not start: the restart policy decides (R-CTRL-1522).
void Clients::end_task(std::uint32_t task, TaskEnd end, std::int64_t now) {
  TaskRun& t = task_runs_[task];
  const AllocRun& a = runs_[t.alloc];
  const TaskSpec& spec = specs_[a.spec].tasks[place(a, task)];
  const RestartDecision decision = decide_restart(spec.restart, spec.restart_on_success, t.restarts, end, now,
                                                  [&](std::int64_t bound) { return uniform(restarts_, bound); });
  if (end == TaskEnd::succeeded || end == TaskEnd::failed) log_end(task, t.exit_code, now);
  log_decision(task, decision, now);
  if (decision.state != RestartState::restarting) {
    const bool failed = decision.state == RestartState::not_restarting;  // R-CTRL-1525
    return die(task, failed, failed ? TaskEvent::not_restarting : TaskEvent::exited, now);
  }
  TaskStatus& status = statuses_[task];
  status.state = TaskState::pending;  // R-CTRL-1526
  ++status.restarts, status.last_restart = now;
  mark(task, TaskEvent::restarting, now);
  t.phase = TaskPhase::waiting, t.exit_at = kNever, t.work = 0;
  // At the very end of the interval the wait is 0, and a task of zero length would restart for ever at one instant of a
  // virtual clock. Wait 1 ns, as with a delay of 0 (R-CTRL-1523).
  const bool at_end = decision.reason == RestartReason::exceeded_delay && decision.wait_ns == 0;
  arm_task(task, now + (at_end ? 1 : decision.wait_ns));
}

void Clients::die(std::uint32_t task, bool failed, TaskEvent event, std::int64_t now) {
  TaskRun& t = task_runs_[task];
  timers_.cancel(t.timer);
  if (t.phase == TaskPhase::uncontacted) --clients_[runs_[t.alloc].client].uncontacted;
  if (event == TaskEvent::killed && statuses_[task].state == TaskState::running) {
    log_end(task, 0, now);
    const AllocRun& a = runs_[t.alloc];
    const std::uint32_t at = place(a, task);
    if (!t.reattached) log(t.alloc, at, {TaskLogEvent::Kind::killed, 0, now, 0, ""});
    if (t.killed_twice)
      log(t.alloc, at, {TaskLogEvent::Kind::killing, 0, now, specs_[a.spec].tasks[at].kill_timeout_ns, ""});
  }
  t.phase = TaskPhase::dead, t.work = 0, t.restart_asked = false;
  statuses_[task].state = TaskState::dead, statuses_[task].finished_at = now;
  statuses_[task].failed |= failed;
  if (event != TaskEvent::none) mark(task, event, now);
}

/// Kills in order: the leader, other tasks, sidecars, each after the previous ones are dead (R-CTRL-1516). True if
/// anything changed.
bool Clients::kill_step(std::uint32_t run, std::int64_t now) {
  const AllocRun& a = runs_[run];
  const GroupSpec& spec = specs_[a.spec];
  const auto stage_of = [](TaskRole role) {
    if (role.hook == Hook::poststop) return 3;
    return role.leader ? 0 : role.sidecar ? 2 : 1;
  };
  bool changed = false, mains = false;
  for (int stage = 0; stage <= (a.kill == KillScope::all ? 3 : 2); ++stage) {
    bool alive = false;
    for (std::uint32_t i = 0; i < spec.tasks.size(); ++i) {
      const TaskRun& t = task_runs_[a.tasks + i];
      if (stage_of(spec.roles[i]) != stage) continue;
      mains |= stage < 2;
      if (t.phase == TaskPhase::dead) continue;
      if (t.phase != TaskPhase::shutting_down && t.phase != TaskPhase::killing) {
        if (stage == 2 && mains) outlive_main_tasks(a.tasks + i, now);
        signal(a.tasks + i, now);
        changed = true;
      }
      alive |= t.phase != TaskPhase::dead;
    }
    if (alive) break;
  }
  return changed;
}

/// For a sidecar whose turn to be killed comes because the server stops its allocation: by then the main tasks are
/// dead, which kills it, too (R-CTRL-1515). Logs both.
void Clients::outlive_main_tasks(std::uint32_t task, std::int64_t now) {
  TaskRun& t = task_runs_[task];
  if (t.phase != TaskPhase::running || t.reattached || statuses_[task].event != TaskEvent::killed) return;
  log_reason(t.alloc, place(runs_[t.alloc], task), TaskEvent::main_tasks_dead, now);
  t.killed_twice = true;
}

void Clients::signal(std::uint32_t task, std::int64_t now) {
  TaskRun& t = task_runs_[task];
  const AllocRun& a = runs_[t.alloc];
  if (t.phase != TaskPhase::running) {
    log(t.alloc, place(a, task),
        {TaskLogEvent::Kind::killing, 0, now, specs_[a.spec].tasks[place(a, task)].kill_timeout_ns,
         kill_text(a.has_forced, a.forced)});
    return die(task, false, TaskEvent::killed, now);
  }
  const std::int64_t delay = a.no_shutdown_delay ? 0 : specs_[a.spec].tasks[place(a, task)].shutdown_delay_ns;
  if (delay <= 0) return send_kill(task, now);
  t.phase = TaskPhase::shutting_down;
  t.kill_at = now + delay;
  arm_task(task, std::max(now, std::min(t.exit_at, t.kill_at)));  // it may have ended while its client was away
}

void Clients::send_kill(std::uint32_t task, std::int64_t now) {
  TaskRun& t = task_runs_[task];
  const AllocRun& a = runs_[t.alloc];
  t.detached |= detaches(a, task);
  if (t.detached) return die(task, false, TaskEvent::killed, now);  // the remote work continues
  const std::int64_t timeout = specs_[a.spec].tasks[place(a, task)].kill_timeout_ns;
  log(t.alloc, place(a, task), {TaskLogEvent::Kind::killing, 0, now, timeout, kill_text(a.has_forced, a.forced)});
  const std::int64_t end = std::min(t.exit_at, now + std::min(t.kill_ns, timeout));
  if (end <= now) return die(task, false, TaskEvent::killed, now);
  t.phase = TaskPhase::killing;
  arm_task(task, end);
}

void Clients::on_task(std::uint32_t task, std::int64_t now) {
  TaskRun& t = task_runs_[task];
  const std::uint32_t run = t.alloc;
  switch (t.phase) {
    case TaskPhase::starting:
      run_task(task, now);
      break;
    case TaskPhase::waiting:
      start_task(task, now);
      break;
    case TaskPhase::running:
      if (runs_[run].kill != KillScope::none &&
          specs_[runs_[run].spec].roles[place(runs_[run], task)].hook != Hook::poststop)
        die(task, false, TaskEvent::killed, now);  // exits before its turn to be killed (R-CTRL-1517)
      else
        end_task(task, t.exit_fails ? TaskEnd::failed : TaskEnd::succeeded, now);
      break;
    case TaskPhase::shutting_down:
      if (t.exit_at <= now)
        die(task, false, TaskEvent::killed, now);
      else
        send_kill(task, now);
      break;
    case TaskPhase::killing:
      if (t.restart_asked && runs_[run].kill == KillScope::none)
        stopped_to_restart(task, now);
      else
        die(task, false, TaskEvent::killed, now);
      break;
    case TaskPhase::idle:
    case TaskPhase::uncontacted:
    case TaskPhase::dead:
      BERTH_ASSERT(false);
  }
  settle(run, now);
}

}  // namespace berth::client
