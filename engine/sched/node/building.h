// An option under construction, as the resource kinds see it (resource_kind.h).
#pragma once

#include "sched/node/fit_parts.h"

namespace berth::sched {

/// The state while the group's option on one node is built (R-RANK-601 to 662).
struct Building {
  FitParts& parts;
  tables::NodeRow row;
  const GroupView& view;
  bool evict;  ///< if a step fails, evict victims and repeat the step
  Option& option;
  std::span<const match::DeviceRequest> devices;  ///< of the tasks not assigned yet

  [[nodiscard]] const tables::CompiledGroup& group() const { return *view.group; }
  [[nodiscard]] const tables::NodeSpec& spec() const { return parts.attempt.snapshot->nodes.spec(row); }
  bool fail(std::uint32_t dimension) const {
    option.dimension = dimension;
    return false;
  }
  bool fail(std::string_view prefix, std::string_view text) const {
    parts.text.assign(prefix).append(text);
    return fail(parts.scratch.reasons.id(parts.text));
  }
};

/// A task of the group, and the resources assigned to it.
struct TaskGets {
  const model::Task& task;
  const tables::CompiledTask& ask;
  model::AllocatedTask& out;
};

}  // namespace berth::sched
