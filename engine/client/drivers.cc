#include "client/drivers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "base/duration.h"
#include "base/json.h"
#include "base/random.h"
#include "model/job.h"

namespace berth::client {
namespace {

using model::Task;

/// A duration of a driver's configuration: text, or a number of nanoseconds.
std::int64_t duration(const json::Value& config, std::string_view key) {
  const json::Value* value = config.find(key);
  if (value == nullptr) return 0;
  if (value->is_int()) return held_wait(value->as_int());
  return held_wait(base::parse_duration(value->as_string()).value_or(0));
}

/// A number, or text that contains one, as job files often have.
std::int32_t number(const json::Value& config, std::string_view key) {
  const json::Value* value = config.find(key);
  if (value == nullptr) return 0;
  constexpr double kMost = 1e9;  // largest code; larger ones count as 0
  std::int64_t out = value->as_int();
  if (value->is_double() && std::abs(value->as_double()) <= kMost) out = static_cast<std::int64_t>(value->as_double());
  if (out > 1'000'000'000 || out < -1'000'000'000) return 0;
  for (const char c : value->as_string()) {
    if (c < '0' || c > '9' || out > 1'000'000'000) return 0;
    out = out * 10 + (c - '0');
  }
  return static_cast<std::int32_t>(out);
}

bool flag(const json::Value& config, std::string_view key) {
  const json::Value* value = config.find(key);
  return value != nullptr && (value->as_bool() || value->as_string() == "true");
}

std::string_view text(const json::Value& config, std::string_view key) {
  const json::Value* value = config.find(key);
  return value == nullptr ? std::string_view() : std::string_view(value->as_string());
}

std::int64_t delay_of(const TaskStart& start, const DriverDefaults& defaults) {
  return start.run == 0 ? defaults.start_delay_ns : defaults.restart_delay_ns;
}

/// The first key that `mock_driver` does not support; "" if there is none.
std::string_view unknown_key(const json::Value& config) {
  static constexpr std::array<std::string_view, 22> kKeys = {"start_error",
                                                             "start_error_recoverable",
                                                             "start_block_for",
                                                             "kill_after",
                                                             "run_for",
                                                             "exit_code",
                                                             "exit_signal",
                                                             "exit_err_msg",
                                                             "signal_error",
                                                             "stdout_string",
                                                             "stdout_repeat",
                                                             "stdout_repeat_duration",
                                                             "stderr_string",
                                                             "stderr_repeat",
                                                             "stderr_repeat_duration",
                                                             "driver_ip",
                                                             "driver_advertise",
                                                             "driver_port_map",
                                                             "plugin_exit_after",
                                                             "exec_command",
                                                             "fs_isolation",
                                                             "shutdown_periodic_after"};
  for (const json::Member& member : config.members())
    if (std::find(kKeys.begin(), kKeys.end(), member.key) == kKeys.end()) return member.key;
  return "";
}

Outcome mock(const json::Value& config, const TaskStart& start, const DriverDefaults& defaults) {
  Outcome out;
  out.start_delay_ns = delay_of(start, defaults) + duration(config, "start_block_for");
  out.run_ns = duration(config, "run_for");
  out.kill_ns = duration(config, "kill_after");
  // Recorded of 16 tasks that were to stop when their client found them again: ten ended 3.0 to 3.4 s after the kill.
  out.recovered_kill_ns = 3 * base::kSecond;
  out.exit_code = number(config, "exit_code");
  out.exit_signal = number(config, "exit_signal");
  out.exit_message = text(config, "exit_err_msg");
  out.start_message = text(config, "start_error");
  if (const std::string_view key = unknown_key(config); !key.empty()) {
    out.start_error = StartError::refused, out.start_message = key;
    return out;
  }
  if (!out.start_message.empty())
    out.start_error = flag(config, "start_error_recoverable") ? StartError::recoverable : StartError::fatal;
  return out;
}

}  // namespace

std::optional<std::int64_t> stated_run_time(const model::Job& job, const model::TaskGroup& group, const Task& task) {
  for (const auto* meta : {&task.meta, &group.meta, &job.meta})
    if (const auto found = meta->find("berth_run_time"); found != meta->end()) {
      const auto time = base::parse_duration(found->second);
      return time && *time >= 0 ? time : std::nullopt;
    }
  return std::nullopt;
}

Outcome driver_outcome(const model::Job& job, const TaskStart& start, const DriverDefaults& defaults) {
  const model::TaskGroup& group = job.task_groups[start.group];
  const Task& task = group.tasks[start.task];
  if (task.driver == "mock_driver") return mock(task.config, start, defaults);
  Outcome out;
  out.start_delay_ns = delay_of(start, defaults);
  if (const auto stated = stated_run_time(job, group, task); stated) {
    out.run_ns = held_wait(*stated);
  } else if (is_of_batch(start.type)) {
    const auto position = static_cast<std::uint64_t>(start.group) << 48 | static_cast<std::uint64_t>(start.task) << 32;
    base::Random draw(defaults.seed ^ base::mix64(position | start.run) ^ base::mix64(start.name_index), job.id);
    out.run_ns = static_cast<std::int64_t>(draw.exponential(static_cast<double>(defaults.batch_run_ns)));
  }
  return out;
}

}  // namespace berth::client
