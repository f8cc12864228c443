// Reads events of tasks from the API's JSON, for imported clusters.
#pragma once

#include "tables/task_log.h"

namespace berth::tables {

/// `events`: the member of TaskStates, or null. Events of kinds that no client here writes are left out.
[[nodiscard]] std::vector<TaskLogEvent> read_task_log(const json::Value& events);

}  // namespace berth::tables
