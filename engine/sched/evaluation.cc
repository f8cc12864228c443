#include "sched/evaluation.h"

#include <algorithm>

#include "tables/state.h"

namespace berth::sched {

using tables::kNoRow;
using tables::NodeRow;
using tables::Snapshot;

void EvalResult::clear() {
  status = EvalStatus::complete;
  description.clear();
  state = nullptr;
  attempts = port_collision_events = 0;
  groups.clear();
  has_queued = submitted = has_blocked = reblocked = gang_over = false;
  plan.clear();
  deployment_id = blocked_id = next_eval = {};
  deployment_groups.clear();
  eligibility.escaped = false;
  eligibility.classes.clear();
  eligibility.missing_resources.clear();
}

void EvalResult::begin_attempt(const Snapshot& snapshot) {
  state = &snapshot;
  groups.clear();
  has_queued = true;
  submitted = false;
  plan.clear();
  deployment_id = {};
  deployment_groups.clear();
  eligibility.escaped = false;
  eligibility.classes.clear();
  eligibility.missing_resources.clear();
}

bool EvalResult::any_failed() const {
  return std::any_of(groups.begin(), groups.end(), [](const GroupResult& group) { return group.failed; });
}

GroupResult* EvalResult::group(tables::Symbol name) {
  for (GroupResult& group : groups)
    if (group.name == name) return &group;
  return nullptr;
}

AttemptEnd submit_plan(Planner& planner, const Snapshot*& state, EvalResult& result, bool needs_refresh) {
  result.submitted = true;
  ++result.attempts;
  const Submission done = planner.submit(result);
  if (!done.error.empty()) {
    result.description = done.error;
    return AttemptEnd::error;
  }
  const tables::AllocTable& table = state->allocs;
  const tables::JobTable& jobs = state->jobs;
  const auto committed = [&](NodeRow node) {
    return !done.nothing_committed &&
           std::find(done.refused_nodes.begin(), done.refused_nodes.end(), node) == done.refused_nodes.end();
  };
  bool full = true,
       progress = !done.nothing_committed && (result.plan.has_deployment || !result.plan.deployment_updates.empty());
  const auto no_longer_queued = [&](tables::Symbol group) {
    if (GroupResult* of = result.group(group); of && of->has_queued) --of->queued;
  };
  for (const PlannedAlloc& alloc : result.plan.allocs) {
    if (done.placements_refused || !committed(alloc.node)) {
      full = false;
      continue;
    }
    progress = true;
    no_longer_queued(jobs.versions[alloc.job == kNoRow ? result.plan.job : alloc.job]->groups[alloc.group].name);
  }
  for (const plan::PlannedUpdate& update : result.plan.updates) {
    if (update.dropped) continue;
    if (!committed(table.node[update.alloc])) {
      full = false;
      continue;
    }
    progress = true;
    if (!done.stored && table.create_index[update.alloc] == table.modify_index[update.alloc])
      no_longer_queued(table.group[update.alloc]);
  }
  for (const plan::PlannedStop& stop : result.plan.stops)
    progress |= !stop.evict && !stop.dropped && committed(table.node[stop.alloc]);
  if (done.refreshed) {
    state = done.refreshed;
    return progress ? AttemptEnd::again_with_progress : AttemptEnd::again;
  }
  if (full) return AttemptEnd::done;
  if (needs_refresh) {
    result.description = "missing state refresh after partial commit";
    return AttemptEnd::error;
  }
  return progress ? AttemptEnd::again_with_progress : AttemptEnd::again;
}

std::string create_blocked(Planner& planner, const EvalResult& result, base::Uuid id, std::string_view triggered_by,
                           std::string_view description, NodeRow node, const Eligibility* eligibility) {
  CreatedEval eval;
  eval.id = id;
  eval.triggered_by = triggered_by;
  eval.description = description;
  eval.node = node;
  eval.eligibility = eligibility ? eligibility : &result.eligibility;
  return planner.create(result, eval);
}

void refuse_trigger(const EvalFacts& eval, EvalResult& result) {
  result.status = EvalStatus::failed;
  result.description = "scheduler cannot handle '" + std::string(eval.triggered_by) + "' evaluation reason";
}

std::shared_ptr<const model::Deployment> latest_deployment(const Snapshot& state, tables::JobKeyRow job) {
  const tables::DeploymentTable& deployments = state.deployments;
  std::uint32_t latest = kNoRow;
  for (tables::DeploymentRow row = state.jobs.keys[job].deployment_head; row != kNoRow;
       row = deployments.next_of_job[row]) {
    if (!deployments.object[row]) continue;  // removed
    if (latest != kNoRow && (deployments.create_index[row] < deployments.create_index[latest] ||
                             (deployments.create_index[row] == deployments.create_index[latest] &&
                              deployments.id[latest] < deployments.id[row])))
      continue;
    latest = row;
  }
  return latest == kNoRow ? nullptr : deployments.object[latest];
}

}  // namespace berth::sched
