#include "tables/task_log.h"

#include "base/json.h"
#include "base/time.h"
#include "tables/task_status.h"

namespace berth::tables {

namespace {

using Kind = TaskLogEvent::Kind;
constexpr std::size_t kKinds = static_cast<std::size_t>(Kind::failed_validation) + 1;

const char* type_of(Kind kind) {
  static constexpr const char* kTypes[] = {"Received",
                                           "Task Setup",
                                           "Started",
                                           "Driver Failure",
                                           "Terminated",
                                           "Restarting",
                                           "Not Restarting",
                                           "Killing",
                                           "Killed",
                                           "Sibling Task Failed",
                                           "Leader Task Dead",
                                           "Main Tasks Dead",
                                           "Restart Signaled",
                                           "Signaling",
                                           "Alloc Unhealthy",
                                           "Reconnected",
                                           "Failed Restoring Task",
                                           "Setup Failure",
                                           "Max Run Duration Exceeded",
                                           "Failed Validation"};
  return kTypes[static_cast<std::size_t>(kind)];
}

constexpr const char* kSetupMessage = "Building Task Directory";

/// The values that are not zero, as text.
void set_details(const TaskLogEvent& event, json::Value& out) {
  json::Value details = json::Value::object();
  const std::string number = std::to_string(event.number);
  const auto own = [&](const char* field, const char* detail) {
    out.set(field, event.text), details.set(detail, event.text);
  };
  switch (event.kind) {
    case Kind::setup:
      out.set("Message", kSetupMessage), details.set("message", kSetupMessage);
      break;
    case Kind::driver_failure:
      own("DriverError", "driver_error");
      break;
    case Kind::failed_validation:
      own("ValidationError", "validation_error");
      break;
    case Kind::terminated:
      out.set("ExitCode", event.number), out.set("Signal", std::int64_t{event.signal});
      details.set("exit_code", number), details.set("signal", std::to_string(event.signal));
      details.set("oom_killed", "false");
      if (!event.text.empty()) own("Message", "exit_message");
      break;
    case Kind::restarting:
      out.set("StartDelay", event.number);
      details.set("start_delay", number), own("RestartReason", "restart_reason");
      break;
    case Kind::not_restarting:
      out.set("FailsTask", true);
      details.set("fails_task", "true"), own("RestartReason", "restart_reason");
      break;
    case Kind::killing:
      if (!event.text.empty()) out.set("DisplayMessage", event.text);
      if (event.number <= 0) break;
      out.set("KillTimeout", event.number), details.set("kill_timeout", base::duration_text(event.number));
      break;
    case Kind::sibling_failed:
      own("FailedSibling", "failed_sibling");
      break;
    case Kind::restart_signaled:
      own("RestartReason", "restart_reason");
      break;
    case Kind::signaling:
      details.set("signal", event.text);
      break;
    default:
      if (!event.text.empty()) own("Message", "message");
  }
  out.set("Details", std::move(details));
}

}  // namespace

std::vector<TaskLogEvent> read_task_log(const json::Value& events) {
  std::vector<TaskLogEvent> out;
  for (const json::Value& event : events.items()) {
    std::size_t kind = 0;
    while (kind < kKinds && event["Type"].as_string() != type_of(static_cast<Kind>(kind))) ++kind;
    if (kind == kKinds) continue;
    TaskLogEvent& read = out.emplace_back();
    read.kind = static_cast<Kind>(kind), read.at = event["Time"].as_int();
    read.signal = static_cast<std::int32_t>(event["Signal"].as_int());
    for (const char* number : {"ExitCode", "StartDelay", "KillTimeout"})
      if (event[number].as_int() != 0) read.number = event[number].as_int();
    for (const char* text : {"DriverError", "ValidationError", "RestartReason", "FailedSibling", "TaskSignal"})
      if (read.text.empty()) read.text = event[text].as_string();
    if (read.text.empty() && read.kind != Kind::setup) read.text = event["Message"].as_string();
    if (read.kind == Kind::signaling) read.text = event["Details"]["signal"].as_string();
    if (const std::string& shown = event["DisplayMessage"].as_string();
        read.kind == Kind::killing && shown == to_text(ClientDescription::max_run_exceeded))
      read.text = shown;
  }
  return out;
}

json::Value to_json(const TaskLogEvent& event) {
  json::Value out = json::Value::object();
  out.set("Type", type_of(event.kind)), out.set("Time", event.at);
  set_details(event, out);
  return out;
}

}  // namespace berth::tables
