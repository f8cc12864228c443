// Operator requests for running tasks: restart, signal (R-API-705).
#include "client/clients.h"

namespace berth::client {

namespace {

constexpr const char* kOver = "restart of an alloc that should not run";

std::string no_such_task(std::string_view task) { return "Could not find task runner for task: " + std::string(task); }

}  // namespace

std::uint32_t Clients::task_named(const AllocRun& a, std::string_view name) const {
  const std::vector<TaskSpec>& tasks = specs_[a.spec].tasks;
  for (std::uint32_t i = 0; i < tasks.size(); ++i)
    if (tasks[i].name == name) return i;
  return kNo;
}

std::string Clients::restart_tasks(AllocRow alloc, std::string_view name, bool all, std::int64_t now) {
  const std::uint32_t run = run_of(alloc);
  if (run == kNo || runs_[run].phase != Phase::running || runs_[run].server_terminal ||
      runs_[run].kill != KillScope::none)
    return kOver;
  const AllocRun& a = runs_[run];
  const std::uint32_t only = name.empty() ? kNo : task_named(a, name);
  if (!name.empty() && only == kNo) return no_such_task(name);
  if (only != kNo && task_runs_[a.tasks + only].phase != TaskPhase::running) return "Task not running";
  const char* reason = all            ? "User requested all tasks to restart"
                       : name.empty() ? "User requested running tasks to restart"
                                      : "User requested task to restart";
  for (std::uint32_t i = 0; i < task_count(a); ++i) {
    if (only != kNo && i != only) continue;
    const TaskRun& t = task_runs_[a.tasks + i];
    const bool begun = statuses_[a.tasks + i].started_at != kNoTime;
    const bool again = all && t.phase == TaskPhase::dead && begun && specs_[a.spec].roles[i].hook != Hook::poststop;
    if (t.phase != TaskPhase::running && !again) continue;
    log(run, i, {TaskLogEvent::Kind::restart_signaled, 0, now, 0, reason});
    if (again)
      start_again(a.tasks + i, now);
    else
      stop_to_restart(a.tasks + i, now);
  }
  settle(run, now);
  return "";
}

/// The driver stops the task; then it starts again.
void Clients::stop_to_restart(std::uint32_t task, std::int64_t now) {
  TaskRun& t = task_runs_[task];
  const AllocRun& a = runs_[t.alloc];
  t.restart_asked = true;
  const std::int64_t timeout = specs_[a.spec].tasks[place(a, task)].kill_timeout_ns;
  const std::int64_t end = std::min(t.exit_at, now + std::min(t.kill_ns, timeout));
  if (end <= now) return stopped_to_restart(task, now);
  t.phase = TaskPhase::killing;
  arm_task(task, end);
}

void Clients::stopped_to_restart(std::uint32_t task, std::int64_t now) {
  log_end(task, 0, now);
  start_again(task, now);
}

/// Bypasses and does not count against the restart policy (R-CTRL-1522). The task waits for its stage again.
void Clients::start_again(std::uint32_t task, std::int64_t now) {
  TaskRun& t = task_runs_[task];
  timers_.cancel(t.timer);
  t.restart_asked = false;
  t.exit_at = kNever, t.work = 0;
  TaskStatus& status = statuses_[task];
  status.state = TaskState::pending, status.failed = false, status.finished_at = kNoTime;
  ++status.restarts, status.last_restart = now;
  mark(task, TaskEvent::restarting, now);
  log(t.alloc, place(runs_[t.alloc], task), {TaskLogEvent::Kind::restarting, 0, now, 0, ""});
  t.phase = TaskPhase::idle;
}

std::string not_running(std::span<const std::string> tasks) {
  if (tasks.empty()) return "";
  std::string text = std::to_string(tasks.size()) + (tasks.size() == 1 ? " error" : " errors") + " occurred:\n";
  for (const std::string& task : tasks) text += "\t* Failed to signal task: " + task + ", err: Task not running\n";
  return text + "\n";
}

std::string Clients::signal_tasks(AllocRow alloc, std::string_view name, std::string_view signal, std::int64_t now) {
  const std::uint32_t run = run_of(alloc);
  BERTH_ASSERT(run != kNo);
  const std::uint32_t only = name.empty() ? kNo : task_named(runs_[run], name);
  if (!name.empty() && only == kNo) return no_such_task(name);
  std::vector<std::string> ended;
  for (std::uint32_t i = 0; i < task_count(runs_[run]); ++i) {
    if (only != kNo && i != only) continue;
    if (task_runs_[runs_[run].tasks + i].phase == TaskPhase::running) {
      log(run, i, {TaskLogEvent::Kind::signaling, 0, now, 0, std::string(signal)});
      continue;
    }
    ended.push_back(specs_[runs_[run].spec].tasks[i].name);
  }
  touch(run, now);
  return not_running(ended);
}

}  // namespace berth::client
