// The events of tasks that a client reported with an allocation (R-API-355), besides those that rules read.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/retained_json.h"

namespace berth::tables {

struct TaskLogEvent {
  enum class Kind : std::uint8_t {
    received,
    setup,
    started,
    driver_failure,  ///< text: reason
    terminated,      ///< number: exit code, signal; text: exit message
    restarting,      ///< number: delay in ns; text: reason
    not_restarting,  ///< text: reason
    killing,         ///< number: kill timeout in ns, 0: the task did not run
    killed,
    sibling_failed,  ///< text: name of that task
    leader_dead,
    main_tasks_dead,
    restart_signaled,  ///< text: reason
    signaling,         ///< text: signal
    alloc_unhealthy,   ///< text: reason
    reconnected,
    restoring_failed,
    setup_failure,
    max_run_exceeded,
    failed_validation,  ///< text: reason
  };
  Kind kind = Kind::received;
  std::int32_t signal = 0;
  std::int64_t at = 0;  ///< unix ns
  std::int64_t number = 0;
  std::string text;
};

/// The event in a client's report: only values that are not zero, without a display message.
[[nodiscard]] json::Value to_json(const TaskLogEvent& event);
/// `events`: the member of TaskStates, or null. Events of kinds that no client here writes are left out.
[[nodiscard]] std::vector<TaskLogEvent> read_task_log(const json::Value& events);

/// By the task's position in its group, oldest first.
using TaskLog = std::vector<std::vector<TaskLogEvent>>;
using TaskLogRef = std::shared_ptr<const TaskLog>;

}  // namespace berth::tables
