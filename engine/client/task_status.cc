#include "client/task_status.h"

namespace berth::client {

Hook hook(std::string_view text) {
  if (text == "prestart") return Hook::prestart;
  if (text == "poststart") return Hook::poststart;
  return text == "poststop" ? Hook::poststop : Hook::main;
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
