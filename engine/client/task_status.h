// Task statuses that clients report, and the status of an allocation that follows from them (R-CTRL-1513).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "model/status.h"
#include "tables/alloc_table.h"

namespace berth::client {

using model::JobType;
using tables::kNoTime;

/// A task's place in the life cycle of its allocation (R-CTRL-1514).
enum class Hook : std::uint8_t { main, prestart, poststart, poststop };
[[nodiscard]] Hook hook(std::string_view text);

struct TaskRole {
  Hook hook = Hook::main;
  bool sidecar = false;
  bool leader = false;
};

using tables::TaskEvent;
using tables::TaskState;
using tables::TaskStatus;
using tables::to_text;
using Description = tables::ClientDescription;

struct AllocStatus {
  tables::Client status = tables::Client::pending;
  Description description = Description::none;  ///< none: no task has a state
};

/// The client status that follows from the tasks (R-CTRL-1513).
[[nodiscard]] AllocStatus alloc_status(std::span<const TaskStatus> tasks);

}  // namespace berth::client
