#include "fsm/deployment_counts.h"

#include <algorithm>

#include "base/later.h"
#include "model/job.h"
#include "model/predicates.h"

namespace berth::fsm {

HealthCounts health_counts(bool placed, std::optional<bool> before, std::optional<bool> now) {  // R-CTRL-727
  HealthCounts out;
  if (placed)
    out.placed = 1;
  else if (now && !before)
    ++(*now ? out.healthy : out.unhealthy);
  else if (now && *before && !*now)
    out.healthy = -1, out.unhealthy = 1;
  return out;
}

void add(const HealthCounts& counts, const CountedAlloc& alloc, model::DeploymentState& group) {
  group.placed_allocs += counts.placed;
  group.healthy_allocs += counts.healthy;
  group.unhealthy_allocs += counts.unhealthy;
  auto& canaries = group.placed_canaries;
  if (!alloc.canary.empty() && std::find(canaries.begin(), canaries.end(), alloc.canary) == canaries.end())
    canaries.emplace_back(alloc.canary);
  if (group.progress_deadline == 0) return;  // R-CTRL-729
  if (counts.placed != 0) {
    if (group.require_progress_by.is_zero())
      group.require_progress_by = base::Time{base::later(alloc.modify_time, group.progress_deadline)};
  } else if (counts.healthy != 0 && !alloc.health_at.is_zero()) {
    const base::Time by{base::later(alloc.health_at.ns, group.progress_deadline)};
    if (by > group.require_progress_by) group.require_progress_by = by;
  }
}

std::optional<model::Deployment> counted(const model::Deployment& stored, model::Allocation& alloc,
                                         const model::Allocation* before, std::uint64_t index) {
  const auto listed = stored.task_groups.find(alloc.task_group);
  if (listed == stored.task_groups.end() || !listed->second) return std::nullopt;
  const auto health = [](const model::Allocation& of) {
    return model::has_health(of) ? of.deployment_status->healthy : std::nullopt;
  };
  const HealthCounts counts = health_counts(!before || before->deployment_id != alloc.deployment_id,
                                            before ? health(*before) : std::nullopt, health(alloc));
  if (counts.none()) return std::nullopt;
  model::Deployment changed = stored;
  if (counts.healthy != 0 || counts.unhealthy != 0) alloc.deployment_status->modify_index = index;  // R-CTRL-728
  changed.modify_time = alloc.modify_time;
  add(counts,
      {model::is_canary(alloc) ? std::string_view(alloc.id) : std::string_view(), alloc.modify_time,
       alloc.deployment_status ? alloc.deployment_status->timestamp : base::Time{}},
      *changed.task_groups[alloc.task_group]);
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
        group->require_progress_by = base::Time{base::later(now, group->progress_deadline)};
  return changed;
}

}  // namespace berth::fsm
