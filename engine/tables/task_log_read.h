// Events of tasks from the API's JSON, for clusters that are taken in.
#pragma once

#include "tables/task_log.h"

namespace berth::tables {

/// `events` as an allocation's TaskStates have them, or null. Events of kinds that no client here writes are left out.
[[nodiscard]] std::vector<TaskLogEvent> read_task_log(const json::Value& events);

}  // namespace berth::tables
