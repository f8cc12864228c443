// Deployments of system jobs after placing: totals, canaries, completion (R-SCHED-168 to 189).
#include <algorithm>
#include <cmath>

#include "model/job.h"
#include "model/predicates.h"
#include "sched/system.h"
#include "tables/state.h"

namespace berth::sched {

using plan::PlannedUpdate;
using tables::AllocRow;
using tables::kNoRow;
using tables::NodeRow;

namespace {

/// R-SCHED-173, in double as the rule says; exact for realistic sizes.
std::int64_t required_canaries(const model::UpdateStrategy& update, std::int64_t updates) {
  const double share = static_cast<double>(update.canary) * static_cast<double>(updates) / 100.0;
  return std::min(static_cast<std::int64_t>(std::ceil(share)), update.max_parallel);
}

}  // namespace

void SystemScheduler::deploy() {
  EvalResult& result = *given_.result;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    if (!groups_[g].has_candidates || scratch_.options.seed_system_reporting) continue;  // R-SEED-86
    result.groups[g].has_updates = true;
    result.groups[g].updates.place = static_cast<std::uint64_t>(groups_[g].candidates);
  }
  if (!deploying_.current) {
    if (!quirks().set_aside_deployment_named && deploying_.stored) add_statuses();
    return;
  }
  model::Deployment& deployment = *deploying_.current;
  const bool complete = update_deployment_state();
  if (std::find(trimmed_.begin(), trimmed_.end(), 1) != trimmed_.end()) drop_trimmed();

  add_statuses();
  if (model::requires_promotion(deployment)) {  // R-SCHED-183
    const std::string_view text = model::has_auto_promote(deployment)
                                      ? "Deployment is running pending automatic promotion"
                                      : "Deployment is running but requires manual promotion";
    deployment.status_description = text;
    if (!quirks().deployment_resubmitted)  // or R-SCHED-189 would overwrite the description
      for (plan::PlannedStatus& update : result.plan.deployment_updates)
        if (update.deployment == deploying_.id && update.status == "running") update.description = text;
  } else if (complete) {
    add_status(deploying_.id, "successful", "Deployment completed successfully");
  }
  const bool empty = std::none_of(deployment.task_groups.begin(), deployment.task_groups.end(),
                                  [](const auto& group) { return group.second.has_value(); });
  if (empty) {  // R-SCHED-185
    result.plan.deployment_updates.clear();
    result.deployment_id = {};
    return;
  }
  // R-SCHED-187: Nomad always submits it.
  if (!quirks().deployment_resubmitted && deploying_.stored && *deploying_.stored == deployment) return;
  result.plan.has_deployment = true;
  result.plan.deployment = std::make_shared<const model::Deployment>(deployment);
}

/// Updates the groups of the deployment. True if all of them are complete (R-SCHED-182).
bool SystemScheduler::update_deployment_state() {
  EvalResult& result = *given_.result;
  model::Deployment& deployment = *deploying_.current;
  bool complete = true;
  trimmed_.assign(result.plan.allocs.size(), 0);
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const model::TaskGroup& spec = *job_->groups[g].spec;
    const Group& group = groups_[g];
    if (group.candidates < 1) {  // R-SCHED-169
      if (deployment.status == "successful") deployment.task_groups[spec.name].reset();
      continue;
    }
    const auto entry = deployment.task_groups.find(spec.name);
    if (entry == deployment.task_groups.end() || !entry->second) continue;
    model::DeploymentState& state = *entry->second;
    state.desired_total = group.candidates;
    const bool canarying = model::has_update_strategy(spec) && spec.update->canary > 0 && !state.promoted &&
                           job_->version != 0 && group.destructive > 0;  // R-SCHED-172
    if (canarying) {
      state.desired_canaries = required_canaries(*spec.update, group.destructive + group.canaries);
      state.placed_canaries.clear();
      trim_canaries(state.desired_canaries, static_cast<std::uint32_t>(g), state.placed_canaries);
      result.groups[g].updates.canary = state.placed_canaries.size();
    }
    if (canarying || state.healthy_allocs < state.desired_total) complete = false;  // R-SCHED-182
  }
  return complete;
}

/// Adds the reconciler's deployment updates to the plan.
void SystemScheduler::add_statuses() {
  for (const auto& update : diff_->deployment_updates)
    add_status(base::parse_uuid(update.created ? diff_->created_id : deploying_.stored->id).value_or(base::Uuid{}),
               update.status, update.description);
}

/// Adds a status update. Without deployment_resubmitted, a deployment that has ended or that the plan already ends gets
/// none: it would be refused (R-CTRL-708).
void SystemScheduler::add_status(base::Uuid deployment, std::string_view status, std::string_view description) {
  auto& updates = given_.result->plan.deployment_updates;
  if (!quirks().deployment_resubmitted) {
    const bool ended = deploying_.stored && !model::is_active_deployment(deploying_.stored->status) &&
                       base::parse_uuid(deploying_.stored->id) == deployment;
    const bool ends = std::any_of(updates.begin(), updates.end(), [&](const plan::PlannedStatus& update) {
      return update.deployment == deployment && !model::is_active_deployment(update.status);
    });
    if (ended || ends) return;
  }
  updates.push_back({deployment, status, description});
}

/// The canaries of the group in the plan, by node in ascending ID: marks of disconnecting ones, then new ones.
std::vector<SystemScheduler::PlannedCanary> SystemScheduler::planned_canaries(std::uint32_t group) const {
  const PlanRows& plan = given_.result->plan;
  const auto canary_of_group = [&](AllocRow row) {
    return row != kNoRow && given_.state->is_canary(row) && given_.state->allocs.group[row] == job_->groups[group].name;
  };
  std::vector<PlannedCanary> out;
  for (std::uint32_t i = 0; i < diff_->disconnecting.size(); ++i)
    if (canary_of_group(plan.updates[i].alloc) && !plan.updates[i].dropped)
      out.push_back({given_.state->nodes.id(input_->visits[diff_->disconnecting[i].visit].handle), false, i});
  for (std::uint32_t i = 0; i < plan.allocs.size(); ++i)
    if (plan.allocs[i].canary && plan.allocs[i].group == group)
      out.push_back({given_.state->nodes.id(plan.allocs[i].node), true, i});
  std::stable_sort(out.begin(), out.end(),
                   [](const PlannedCanary& a, const PlannedCanary& b) { return a.node < b.node; });
  return out;
}

void SystemScheduler::trim_canaries(std::int64_t required, std::uint32_t group, std::vector<std::string>& canaries) {
  if (required == 0) return;
  const bool overshoots = quirks().canary_trim_overshoots;
  PlanRows& plan = given_.result->plan;
  const auto id_of = [&](AllocRow row) { return base::to_text(given_.state->allocs.id[row]); };
  std::int64_t left = required;
  // F and P of R-SCHED-175: allocations that replace a canary of a failed deployment, over all groups.
  std::vector<AllocRow> replaced;
  for (const Tuple& tuple : place_) {
    if (!overshoots && name_of(tuple).group != group) continue;
    if (const AllocRow row = row_of(tuple); row != kNoRow && given_.state->is_canary(row)) replaced.push_back(row);
  }
  std::sort(replaced.begin(), replaced.end());
  const auto is_preferred = [&](const PlannedAlloc& alloc) {
    return alloc.previous != kNoRow && std::binary_search(replaced.begin(), replaced.end(), alloc.previous);
  };
  for (const PlannedAlloc& alloc : plan.allocs) left -= is_preferred(alloc);
  for (const Tuple& tuple : diff_->ignore) {  // R-SCHED-176
    if (name_of(tuple).group != group) continue;
    if (!given_.state->is_canary(row_of(tuple))) continue;
    canaries.push_back(id_of(row_of(tuple)));
    --left;
  }
  std::vector<PlannedCanary> entries = planned_canaries(group);
  if (!overshoots)  // marks stay and count like running canaries
    std::erase_if(entries, [&](const PlannedCanary& entry) {
      if (entry.is_new) return false;
      canaries.push_back(id_of(plan.updates[entry.index].alloc));
      --left;
      return true;
    });
  std::vector<AllocRow> kept_running;
  for (const PlannedCanary& entry : entries) {
    const bool preferred = entry.is_new && is_preferred(plan.allocs[entry.index]);
    const bool not_ready =
        !entry.is_new && input_->visits[diff_->disconnecting[entry.index].visit].not_ready;  // R-SCHED-178
    if (!not_ready && (left > 0 || preferred)) {                                             // R-SCHED-179
      if (overshoots || !preferred) --left;  // Nomad subtracts preferred ones twice
      canaries.push_back(entry.is_new ? base::to_text(plan.allocs[entry.index].id)
                                      : id_of(plan.updates[entry.index].alloc));
      continue;
    }
    if (overshoots)
      plan.has_empty_list = true;  // R-SCHED-180, 181
    else
      --given_.result->groups[group].queued;  // the replaced allocation keeps running
    if (!entry.is_new) {
      plan.updates[entry.index].dropped = true;
      continue;
    }
    trimmed_[entry.index] = 1;
    if (plan.allocs[entry.index].previous != kNoRow) kept_running.push_back(plan.allocs[entry.index].previous);
  }
  std::sort(kept_running.begin(), kept_running.end());
  for (plan::PlannedStop& stop : plan.stops)
    if (!stop.evict && std::binary_search(kept_running.begin(), kept_running.end(), stop.alloc)) stop.dropped = true;
}

/// Removes the trimmed canaries from the plan. With canary_trim_overshoots their evictions stay (R-SCHED-181).
void SystemScheduler::drop_trimmed() {
  PlanRows& plan = given_.result->plan;
  std::vector<std::uint32_t> moved(plan.allocs.size());
  std::uint32_t kept = 0;
  for (std::uint32_t i = 0; i < plan.allocs.size(); ++i) {
    PlannedAlloc& alloc = plan.allocs[i];
    scratch_.own_overlay(alloc.node).first_alloc = kNoRow;
    if (trimmed_[i]) {
      moved[i] = plan::kDroppedBy + static_cast<std::uint32_t>(plan.dropped.size());
      plan.dropped.push_back({alloc.id, alloc.group});
      continue;
    }
    moved[i] = kept;
    if (kept != i) plan.allocs[kept] = std::move(alloc);
    ++kept;
  }
  plan.allocs.resize(kept);
  for (plan::PlannedStop& stop : plan.stops) {
    if (!stop.evict) continue;
    stop.by = moved[stop.by];
    stop.dropped = stop.dropped || (!quirks().canary_trim_overshoots && stop.by >= plan::kDroppedBy);
  }
  for (std::uint32_t i = 0; i < kept; ++i) {  // rebuild the chains by node
    PlannedAlloc& alloc = plan.allocs[i];
    NodeOverlay& overlay = scratch_.own_overlay(alloc.node);
    alloc.next_on_node = kNoRow;
    alloc.first_on_node = overlay.first_alloc == kNoRow;
    if (alloc.first_on_node)
      overlay.first_alloc = i;
    else
      plan.allocs[overlay.last_alloc].next_on_node = i;
    overlay.last_alloc = i;
  }
}

}  // namespace berth::sched
