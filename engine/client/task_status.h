// What clients report of a task, and what the statuses of an allocation's tasks say of the allocation (R-CTRL-1513).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/time.h"
#include "model/status.h"
#include "tables/alloc_table.h"

namespace berth::client {

inline constexpr std::int64_t kNoTime = base::Time::kUnset;

using model::JobType;

/// Where a task stands in the life of its allocation (R-CTRL-1514).
enum class Hook : std::uint8_t { main, prestart, poststart, poststop };
[[nodiscard]] Hook hook(std::string_view text);

struct TaskRole {
  Hook hook = Hook::main;
  bool sidecar = false;
  bool leader = false;
};

enum class TaskState : std::uint8_t { pending, running, dead };

/// The newest event of a task, of those that rules name. Each is a change that is worth a report.
enum class TaskEvent : std::uint8_t {
  none,
  started,
  not_started,  ///< a start that failed
  exited,
  restarting,
  not_restarting,
  killed,
  sibling_failed,    ///< R-CTRL-1515
  leader_dead,       ///< R-CTRL-1515
  main_tasks_dead,   ///< R-CTRL-1515
  reconnected,       ///< R-CTRL-1560
  restoring_failed,  ///< R-CTRL-1565
  setup_failed,      ///< R-CTRL-1512
  max_run_exceeded,  ///< R-CTRL-1519
};
[[nodiscard]] std::string_view to_text(TaskEvent event);  ///< as Nomad types it: `Sibling Task Failed`

/// The reported half of a task; times in unix ns, kNoTime where there is none.
struct TaskStatus {
  std::int64_t started_at = kNoTime, finished_at = kNoTime, last_restart = kNoTime;
  std::int64_t event_at = kNoTime;
  std::uint32_t restarts = 0;
  TaskState state = TaskState::pending;
  bool failed = false;
  TaskEvent event = TaskEvent::none;

  [[nodiscard]] bool successful() const { return state == TaskState::dead && !failed; }  // R-MODEL-154
};

/// Why an allocation has its client status.
enum class Description : std::uint8_t {
  none,
  failed_tasks,
  running,
  not_started,
  completed,
  max_run_exceeded,  ///< R-CTRL-1519
  not_added,         ///< R-CTRL-1505
  not_restored,      ///< R-CTRL-1566
};
[[nodiscard]] std::string_view to_text(Description description);

struct AllocStatus {
  tables::Client status = tables::Client::pending;
  Description description = Description::none;  ///< none: no task has a state
};

/// The client status that follows from the tasks (R-CTRL-1513).
[[nodiscard]] AllocStatus alloc_status(std::span<const TaskStatus> tasks);

}  // namespace berth::client
