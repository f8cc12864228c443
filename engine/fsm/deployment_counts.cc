#include "fsm/deployment_counts.h"

#include <algorithm>

#include "model/predicates.h"

namespace berth::fsm {

std::optional<model::Deployment> counted(const model::Deployment& stored, model::Allocation& alloc,
                                         const model::Allocation* before, std::uint64_t index) {
  const auto listed = stored.task_groups.find(alloc.task_group);
  if (listed == stored.task_groups.end() || !listed->second) return std::nullopt;
  int placed = 0, healthy = 0, unhealthy = 0;  // R-CTRL-727
  const bool had_health = before && model::has_health(*before), has_health = model::has_health(alloc);
  if (!before || before->deployment_id != alloc.deployment_id)
    placed = 1;
  else if (has_health && !had_health)
    *alloc.deployment_status->healthy ? ++healthy : ++unhealthy;
  else if (has_health && had_health && *before->deployment_status->healthy && !*alloc.deployment_status->healthy)
    --healthy, ++unhealthy;
  if (placed == 0 && healthy == 0 && unhealthy == 0) return std::nullopt;
  model::Deployment changed = stored;
  changed.modify_time = alloc.modify_time;
  model::DeploymentState& group = *changed.task_groups[alloc.task_group];
  group.placed_allocs += placed;
  group.healthy_allocs += healthy;
  group.unhealthy_allocs += unhealthy;
  if (healthy != 0 || unhealthy != 0) alloc.deployment_status->modify_index = index;  // R-CTRL-728
  if (model::is_canary(alloc) &&
      std::find(group.placed_canaries.begin(), group.placed_canaries.end(), alloc.id) == group.placed_canaries.end())
    group.placed_canaries.push_back(alloc.id);
  if (group.progress_deadline != 0) {  // R-CTRL-729
    if (placed != 0) {
      if (group.require_progress_by.is_zero())
        group.require_progress_by = base::Time{alloc.modify_time + group.progress_deadline};
    } else if (healthy != 0 && !alloc.deployment_status->timestamp.is_zero()) {
      const base::Time by{alloc.deployment_status->timestamp.ns + group.progress_deadline};
      if (by > group.require_progress_by) group.require_progress_by = by;
    }
  }
  return changed;
}

model::Deployment with_status(const model::Deployment& stored, std::string_view status, std::string_view description,
                              std::int64_t now) {
  model::Deployment changed = stored;
  changed.status = status;
  changed.status_description = description;
  changed.modify_time = now;
  if (status == "running" || status == "paused")
    for (auto& [name, group] : changed.task_groups)
      if (group && group->progress_deadline != 0)
        group->require_progress_by = base::Time{now + group->progress_deadline};
  return changed;
}

}  // namespace berth::fsm
