// Writes the deployment that a plan creates or updates, and the counts of its placements (R-CTRL-704 to 708, 727).
#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/later.h"
#include "fsm/deployment_counts.h"
#include "model/job.h"
#include "model/plan_predicates.h"
#include "model/predicates.h"
#include "plan/apply.h"
#include "tables/export.h"

namespace berth::plan {

using tables::AllocRow;
using tables::kNoRow;

void Applier::write_deployment(Writing& w, model::Deployment deployment) {
  const tables::DeploymentRow row = store_.find_deployment(deployment.id);
  deployment.create_index = w.facts.index;
  if (row != kNoRow) {
    const model::Deployment& before = *w.state.deployments.object[row];
    deployment.create_index = before.create_index;
    model::keep_stored_counts(deployment, before);
  }
  if (!rejected_->empty() || placements_refused_)  // R-CTRL-619
    for (auto& [name, group] : deployment.task_groups) {
      if (!group) continue;
      std::erase_if(group->placed_canaries, [&](const std::string& id) {
        return std::none_of(
                   w.plan.allocs.begin(), w.plan.allocs.end(),
                   [&](const PlannedAlloc& alloc) { return !refuses(alloc) && base::to_text(alloc.id) == id; }) &&
               std::none_of(w.plan.updates.begin(), w.plan.updates.end(), [&](const PlannedUpdate& update) {
                 return !update.dropped && !refuses(node_of(update.alloc)) &&
                        base::to_text(w.state.allocs.id[update.alloc]) == id;
               });
      });
    }
  store_deployment(w, std::move(deployment));
}

void Applier::store_deployment(Writing& w, model::Deployment deployment) {
  deployment.modify_index = w.facts.index;
  if (const tables::DeploymentRow row = w.commit.upsert_deployment(std::move(deployment)); log_ && row != kNoRow)
    changes_.deployments.push_back(row);
}

void Applier::write_statuses(Writing& w) {
  for (const PlannedStatus& update : w.plan.deployment_updates) {
    const tables::DeploymentRow row = store_.find_deployment(update.deployment);
    if (row == kNoRow || !model::is_active_deployment(w.state.deployments.object[row]->status)) return;  // R-CTRL-708
    store_deployment(
        w, fsm::with_status(*w.state.deployments.object[row], update.status, update.description, w.facts.now_ns));
  }
}

void Applier::count_placed(tables::DeploymentRow deployment, tables::Symbol group, AllocRow canary) {
  BERTH_ASSERT(deployment != kNoRow);
  auto at = std::find_if(placed_.begin(), placed_.end(),
                         [&](const Placed& p) { return p.deployment == deployment && p.group == group; });
  if (at == placed_.end()) at = placed_.insert(at, {deployment, group, 0, {}});
  ++at->count;
  if (canary != kNoRow) at->canaries.push_back(canary);
}

/// R-CTRL-727 to 729, once per deployment and group.
void Applier::write_counts(Writing& w) {
  for (Placed& placed : placed_) {
    BERTH_ASSERT(placed.count >= static_cast<std::int64_t>(placed.canaries.size()));
    BERTH_ASSERT(w.state.deployments.object[placed.deployment]);  // it was found before anything was placed
    std::stable_sort(placed.canaries.begin(), placed.canaries.end(), [&](AllocRow a, AllocRow b) {  // R-CTRL-705
      return home_of(w.state, a) < home_of(w.state, b);
    });
    model::Deployment changed = *w.state.deployments.object[placed.deployment];
    const auto listed = changed.task_groups.find(w.state.text(placed.group));
    if (listed == changed.task_groups.end() || !listed->second) continue;
    model::DeploymentState& group = *listed->second;
    group.placed_allocs += placed.count;
    for (const AllocRow row : placed.canaries) {
      std::string id = base::to_text(w.state.allocs.id[row]);
      if (std::find(group.placed_canaries.begin(), group.placed_canaries.end(), id) == group.placed_canaries.end())
        group.placed_canaries.push_back(std::move(id));
    }
    if (group.progress_deadline != 0 && group.require_progress_by.is_zero())
      group.require_progress_by = base::Time{base::later(w.facts.now_ns, group.progress_deadline)};
    changed.modify_time = w.facts.now_ns;
    store_deployment(w, std::move(changed));
  }
}

}  // namespace berth::plan
