#include "tables/task_status.h"

#include <limits>

#include "base/json.h"

namespace berth::tables {

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

std::string_view to_text(ClientDescription description) {
  switch (description) {
    case ClientDescription::none:
      break;
    case ClientDescription::failed_tasks:
      return "Failed tasks";
    case ClientDescription::running:
      return "Tasks are running";
    case ClientDescription::not_started:
      return "No tasks have started";
    case ClientDescription::completed:
      return "All tasks have completed";
    case ClientDescription::max_run_exceeded:
      return "allocation exceeded max_run_duration";
    case ClientDescription::not_added:
      return "Unable to add allocation due to error: no runner could be built";
    case ClientDescription::not_restored:
      return "failed to restore allocation";
  }
  return "";
}

void write_task(const TaskStatus& status, model::TaskState& out) {
  out.state = status.state == TaskState::running ? "running" : status.state == TaskState::dead ? "dead" : "pending";
  out.failed = status.failed, out.restarts = status.restarts;
  out.started_at.ns = status.started_at, out.finished_at.ns = status.finished_at;
  out.last_restart.ns = status.last_restart;
}

json::Value task_events(TaskEvent event, std::int64_t at) {
  if (event == TaskEvent::none) return {};
  json::Value one;
  one.set("Type", to_text(event)), one.set("Time", at);
  json::Value all = json::Value::array();
  all.push(one);
  return all;
}

bool Reported::take(Symbol name, const TaskStatus& status) {
  if (status.restarts > std::numeric_limits<std::uint16_t>::max()) return false;
  task = name;
  started_at = status.started_at, finished_at = status.finished_at, last_restart = status.last_restart;
  event = status.event, event_at = status.event_at;
  restarts = static_cast<std::uint16_t>(status.restarts);
  state = status.state, failed = status.failed;
  return true;
}

ReportRow to_row(const Reported& said, ReportMore& more) {
  using EventAt = ReportRow::EventAt;
  ReportRow row;
  row.started_at = said.started_at, row.finished_at = said.finished_at;
  row.alloc_modify_index = said.alloc_modify_index;
  row.task = said.task, row.restarts = said.restarts;
  row.state = said.state, row.failed = said.failed, row.present = true;
  row.description = said.description, row.event = said.event;
  row.event_at = said.event_at == kNoTime            ? EventAt::none
                 : said.event_at == said.started_at  ? EventAt::started
                 : said.event_at == said.finished_at ? EventAt::finished
                                                     : EventAt::more;
  row.has_more =
      row.event_at == EventAt::more || said.last_restart != kNoTime || said.health_at != 0 || said.health_index != 0;
  more = {};
  if (row.has_more)
    more = {said.last_restart, row.event_at == EventAt::more ? said.event_at : 0, said.health_at, said.health_index};
  return row;
}

Reported to_report(const ReportRow& row, const ReportMore& more) {
  using EventAt = ReportRow::EventAt;
  Reported said;
  said.started_at = row.started_at, said.finished_at = row.finished_at;
  said.last_restart = row.has_more ? more.last_restart : kNoTime;
  said.event_at = row.event_at == EventAt::none       ? kNoTime
                  : row.event_at == EventAt::started  ? row.started_at
                  : row.event_at == EventAt::finished ? row.finished_at
                                                      : more.event_at;
  said.health_at = more.health_at, said.health_index = more.health_index;
  said.alloc_modify_index = row.alloc_modify_index;
  said.task = row.task, said.restarts = row.restarts;
  said.state = row.state, said.failed = row.failed;
  said.description = row.description, said.event = row.event;
  return said;
}

TaskStatus Reported::status() const {
  TaskStatus out;
  out.started_at = started_at, out.finished_at = finished_at, out.last_restart = last_restart;
  out.event = event, out.event_at = event_at;
  out.restarts = restarts;
  out.state = state, out.failed = failed;
  return out;
}

}  // namespace berth::tables
