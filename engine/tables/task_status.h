// Reports of clients on the tasks of an allocation: the values, their texts, and the row in which a state stores them.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/time.h"
#include "model/alloc.h"
#include "tables/symbols.h"

namespace berth::tables {

inline constexpr std::int64_t kNoTime = base::Time::kUnset;

enum class TaskState : std::uint8_t { pending, running, dead };

/// The newest event of a task, among those that rules name. Each is a change that causes a report.
enum class TaskEvent : std::uint8_t {
  none,
  started,
  not_started,  ///< a start failed
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
[[nodiscard]] std::string_view to_text(TaskEvent event);  ///< Nomad's type text: `Sibling Task Failed`

/// The reported part of a task; times in unix ns, kNoTime if there is none.
struct TaskStatus {
  std::int64_t started_at = kNoTime, finished_at = kNoTime, last_restart = kNoTime;
  std::int64_t event_at = kNoTime;
  std::uint32_t restarts = 0;
  TaskState state = TaskState::pending;
  bool failed = false;
  TaskEvent event = TaskEvent::none;

  [[nodiscard]] bool successful() const { return state == TaskState::dead && !failed; }  // R-MODEL-154
};

/// The reason for an allocation's client status.
enum class ClientDescription : std::uint8_t {
  none,
  failed_tasks,
  running,
  not_started,
  completed,
  max_run_exceeded,  ///< R-CTRL-1519
  not_added,         ///< R-CTRL-1505
  not_restored,      ///< R-CTRL-1566
};
[[nodiscard]] std::string_view to_text(ClientDescription description);

/// Writes the reported part of a task, without its event, to a new API object.
void write_task(const TaskStatus& status, model::TaskState& out);
/// The newest event of a task as a list of events; null if there is none.
[[nodiscard]] json::Value task_events(TaskEvent event, std::int64_t at);

/// The last report on an allocation that has no API object and at most one task.
struct Reported {
  std::int64_t started_at = 0, finished_at = 0, last_restart = 0,
               event_at = 0;             ///< unix ns, kNoTime where there is none
  std::int64_t health_at = 0;            ///< timestamp of the deployment status, if AllocLinks::health has a result
  std::uint64_t health_index = 0;        ///< its ModifyIndex
  std::uint64_t alloc_modify_index = 0;  ///< the last change that was not a report: clients compare it (R-CTRL-1504)
  Symbol task = kEmptySymbol;            ///< name of the task; empty: no task has a state
  std::uint16_t restarts = 0;
  TaskState state = TaskState::pending;
  bool failed = false;
  ClientDescription description = ClientDescription::none;
  TaskEvent event = TaskEvent::none;

  /// False: the status does not fit into a row.
  [[nodiscard]] bool take(Symbol name, const TaskStatus& status);
  [[nodiscard]] TaskStatus status() const;
};

/// A row of AllocTable::reported: Reported without its rare members, which are in AllocTable::reported_more. All zero:
/// its client has not reported yet.
struct ReportRow {
  /// The source of the event's time: usually that of the task's start or end.
  enum class EventAt : std::uint8_t { none, started, finished, more };

  std::int64_t started_at = 0, finished_at = 0;
  std::uint64_t alloc_modify_index = 0;
  Symbol task = kEmptySymbol;
  std::uint16_t restarts = 0;
  TaskState state : 2 = TaskState::pending;
  bool failed : 1 = false;
  bool present : 1 = false;   ///< its client has reported
  bool has_more : 1 = false;  ///< there is a row in `reported_more`
  EventAt event_at : 2 = EventAt::none;
  ClientDescription description : 4 = ClientDescription::none;
  TaskEvent event : 4 = TaskEvent::none;
};
static_assert(sizeof(ReportRow) == 32);

/// The rare parts of a report: restarts, other event times, and health in a deployment.
struct ReportMore {
  std::int64_t last_restart = 0, event_at = 0, health_at = 0;
  std::uint64_t health_index = 0;
  friend bool operator==(const ReportMore&, const ReportMore&) = default;
};

/// A report as its row; `more` gets the rest if the row has_more.
[[nodiscard]] ReportRow to_row(const Reported& said, ReportMore& more);
[[nodiscard]] Reported to_report(const ReportRow& row, const ReportMore& more);

}  // namespace berth::tables
