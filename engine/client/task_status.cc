#include "client/task_status.h"

namespace berth::client {

Hook hook(std::string_view text) {
  if (text == "prestart") return Hook::prestart;
  if (text == "poststart") return Hook::poststart;
  return text == "poststop" ? Hook::poststop : Hook::main;
}

std::string_view to_text(TaskEvent event) {
  switch (event) {
    case TaskEvent::none:
      break;
    case TaskEvent::started:
      return "Started";
    case TaskEvent::not_started:
      return "Driver Failure";
    case TaskEvent::exited:
      return "Terminated";
    case TaskEvent::restarting:
      return "Restarting";
    case TaskEvent::not_restarting:
      return "Not Restarting";
    case TaskEvent::killed:
      return "Killed";
    case TaskEvent::sibling_failed:
      return "Sibling Task Failed";
    case TaskEvent::leader_dead:
      return "Leader Task Dead";
    case TaskEvent::main_tasks_dead:
      return "Main Tasks Dead";
    case TaskEvent::reconnected:
      return "Reconnected";
    case TaskEvent::restoring_failed:
      return "Failed Restoring Task";
    case TaskEvent::setup_failed:
      return "Setup Failure";
    case TaskEvent::max_run_exceeded:
      return "Max Run Duration Exceeded";
  }
  return "";
}

std::string_view to_text(Description description) {
  switch (description) {
    case Description::none:
      break;
    case Description::failed_tasks:
      return "Failed tasks";
    case Description::running:
      return "Tasks are running";
    case Description::not_started:
      return "No tasks have started";
    case Description::completed:
      return "All tasks have completed";
    case Description::max_run_exceeded:
      return "allocation exceeded max_run_duration";
    case Description::not_added:
      return "Unable to add allocation due to error: no runner could be built";
    case Description::not_restored:
      return "failed to restore allocation";
  }
  return "";
}

AllocStatus alloc_status(std::span<const TaskStatus> tasks) {
  bool failed = false, running = false, pending = false;
  for (const TaskStatus& task : tasks) {
    failed |= task.state == TaskState::dead && task.failed;
    running |= task.state == TaskState::running;
    pending |= task.state == TaskState::pending;
  }
  if (failed) return {tables::Client::failed, Description::failed_tasks};
  if (running) return {tables::Client::running, Description::running};
  if (pending) return {tables::Client::pending, Description::not_started};
  if (tasks.empty()) return {};
  return {tables::Client::complete, Description::completed};
}

}  // namespace berth::client
