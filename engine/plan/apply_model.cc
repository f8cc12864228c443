#include "plan/apply_model.h"

#include <algorithm>

#include "model/plan_predicates.h"
#include "model/predicates.h"

namespace berth::plan {

using tables::AllocRow;
using tables::kNoRow;

namespace {

base::Uuid uuid_of(std::string_view id) { return base::parse_uuid(id).value_or(base::Uuid{}); }

using NodeAllocs = std::map<std::string, std::vector<model::Allocation>>;

}  // namespace

ModelApplier::ModelApplier(log::StateLog& log, std::function<std::string()> next_id,
                           std::optional<RejectionLimits> limits)
    : log_(log), next_id_(std::move(next_id)) {
  if (limits) tracker_.emplace(*limits);
}

void ModelApplier::renew(std::uint64_t snapshot_index) {  // R-CTRL-601; a commit is never in flight here
  if (view_ && !committed_since_ && view_->index >= std::max(last_commit_, snapshot_index)) return;
  view_.reset();
  view_ = log_.store().snapshot();
  committed_since_ = false;
}

AllocRow ModelApplier::row_in_view(std::string_view id) {
  const AllocRow row = log_.store().find_alloc(id);
  return row != kNoRow && row < view_->allocs.size() && view_->allocs.exists(row) ? row : kNoRow;
}

bool ModelApplier::resolve_job(model::Plan& plan, ModelApplyResult& out) const {  // R-CTRL-503: as it is stored now
  const std::string name_space = plan.job ? plan.job->namespace_ : plan.job_namespace;
  const std::string job_id = plan.job ? plan.job->id : plan.job_id;
  plan.job = log_.job(name_space, job_id);
  if (!plan.job) out.error = "job \"" + job_id + "\" in namespace \"" + name_space + "\" not found";
  return plan.job != nullptr;
}

ModelApplyResult ModelApplier::apply(model::Plan plan, std::int64_t now) {
  ModelApplyResult out;
  model::normalize(plan, log_.quirks());
  if (!resolve_job(plan, out)) return out;
  renew(plan.snapshot_index);
  out.error = verify(plan, now, out);
  if (!out.error.empty()) {
    out.result = {};
    return out;
  }
  if (model::is_no_op(out.result)) return out;  // R-CTRL-621
  commit(plan, now, out);
  return out;
}

ModelApplyResult ModelApplier::apply_without(model::Plan plan, const std::string& refused, std::int64_t now) {
  ModelApplyResult out;
  model::normalize(plan, log_.quirks());
  if (!resolve_job(plan, out)) return out;
  renew(plan.snapshot_index);
  for (NodeAllocs* lists : {&plan.node_update, &plan.node_allocation, &plan.node_preemptions}) lists->erase(refused);
  out.result.node_update = plan.node_update;
  out.result.node_allocation = plan.node_allocation;
  out.result.node_preemptions = plan.node_preemptions;
  out.result.deployment = plan.deployment;
  out.result.deployment_updates = plan.deployment_updates;
  if (!refused.empty()) out.result.rejected_nodes.push_back(refused);
  commit(plan, now, out);
  out.result.refresh_index = out.result.alloc_index;
  return out;
}

std::string ModelApplier::verify(const model::Plan& plan, std::int64_t now, ModelApplyResult& out) {
  for (const NodeAllocs* lists : {&plan.node_update, &plan.node_preemptions})  // R-CTRL-606
    for (const auto& [node_id, allocs] : *lists)
      for (const model::Allocation& alloc : allocs)
        if (row_in_view(alloc.id) == kNoRow) return "alloc " + alloc.id + " doesn't exist";
  model::PlanResult& result = out.result;
  result.deployment = plan.deployment;
  result.deployment_updates = plan.deployment_updates;
  std::set<std::string> nodes;  // R-CTRL-608
  for (const auto& [node_id, allocs] : plan.node_update) nodes.insert(node_id);
  for (const auto& [node_id, allocs] : plan.node_allocation) nodes.insert(node_id);
  for (const std::string& node_id : nodes) {
    const tables::NodeRow row = log_.store().find_node(node_id);
    NodeVerdict verdict = check_.check(*view_, row < view_->nodes.size() ? row : kNoRow, plan, node_id);
    const bool fit = verdict.fit;
    const std::string error = verdict.error;
    out.nodes.push_back({node_id, std::move(verdict)});
    if (!error.empty()) return "1 error occurred:\n\t* " + error + "\n\n";  // R-CTRL-614, 620
    if (!fit) {
      result.rejected_nodes.push_back(node_id);
      if (tracker_ && tracker_->add(uuid_of(node_id), now)) result.ineligible_nodes.push_back(node_id);  // R-CTRL-630
      if (!plan.all_at_once) continue;
      result.node_update.clear();  // R-CTRL-618
      result.node_allocation.clear();
      result.node_preemptions.clear();
      result.deployment.reset();
      result.deployment_updates.clear();
      break;
    }
    if (const auto stops = plan.node_update.find(node_id); stops != plan.node_update.end() && !stops->second.empty())
      result.node_update.insert(*stops);
    if (const auto placed = plan.node_allocation.find(node_id);
        placed != plan.node_allocation.end() && !placed->second.empty())
      result.node_allocation.insert(*placed);
    if (const auto preempted = plan.node_preemptions.find(node_id); preempted != plan.node_preemptions.end())
      for (const model::Allocation& alloc : preempted->second)  // R-CTRL-616
        if (!view_->allocs.terminal(row_in_view(alloc.id))) result.node_preemptions[node_id].push_back(alloc);
  }
  if (!log_.quirks().placement_of_stopped_vanishes && plan.job->stop) refuse_placements(out);
  if (result.rejected_nodes.empty() && !out.placements_refused) return "";
  result.refresh_index = std::max(view_->nodes.index, view_->allocs.index);  // R-CTRL-617
  if (out.placements_refused) result.refresh_index = std::max(result.refresh_index, plan.job->modify_index);
  if (result.refresh_index == 0) return "partialCommit with RefreshIndex of 0";
  if (result.deployment)  // R-CTRL-619
    for (auto& [name, group] : result.deployment->task_groups) {
      if (!group) continue;
      std::erase_if(group->placed_canaries, [&](const std::string& id) {
        for (const auto& [node_id, allocs] : result.node_allocation)
          for (const model::Allocation& alloc : allocs)
            if (alloc.id == id) return false;
        return true;
      });
    }
  return "";
}

/// Nomad drops what is new of a stopped job while it is written (R-CTRL-712), when the answer is given already.
void ModelApplier::refuse_placements(ModelApplyResult& out) {
  model::PlanResult& result = out.result;
  for (auto node = result.node_allocation.begin(); node != result.node_allocation.end();) {
    const auto refused = std::erase_if(
        node->second, [&](const model::Allocation& alloc) { return log_.store().find_alloc(alloc.id) == kNoRow; });
    out.placements_refused |= refused > 0;
    node = node->second.empty() ? result.node_allocation.erase(node) : std::next(node);
  }
  if (out.placements_refused) result.node_preemptions.clear();  // they made room for nothing else
}

void ModelApplier::commit(const model::Plan& plan, std::int64_t now, ModelApplyResult& out) {
  model::PlanResult& result = out.result;
  log::PlanEntry& entry = out.entry;
  entry.job = plan.job;
  entry.eval_id = plan.eval_id;
  entry.updated_at = now;
  entry.ineligible_nodes = result.ineligible_nodes;
  entry.deployment = result.deployment;
  entry.deployment_updates = result.deployment_updates;
  for (const auto& [node_id, allocs] : result.node_allocation)  // R-CTRL-705
    for (model::Allocation alloc : allocs) {
      if (alloc.create_time == 0) alloc.create_time = now;  // R-CTRL-625
      alloc.modify_time = now;
      entry.updated.push_back(std::move(alloc));
    }
  std::map<std::string_view, const std::vector<model::AllocState>*> told;  // longest AllocStates of each stop so far
  for (const auto& [node_id, allocs] : result.node_update)
    for (const model::Allocation& stop : allocs) {  // R-CTRL-626
      model::Allocation& kept = entry.stopped.emplace_back();
      kept.id = stop.id;
      kept.desired_description = stop.desired_description;
      const auto stored = log_.alloc(stop.id);
      kept.client_status = !stop.client_status.empty() || !stored ? stop.client_status : stored->client_status;
      kept.followup_eval_id =
          !stop.followup_eval_id.empty() || !stored ? stop.followup_eval_id : stored->followup_eval_id;
      kept.modify_time = now;
      if (!log_.quirks().reschedule_loses_description) kept.reschedule_tracker = stop.reschedule_tracker;
      if (log_.quirks().stop_erases_states) continue;
      // A second stop is made from the stored allocation, too: what the first one added stays.
      const std::vector<model::AllocState>*& states = told[stop.id];
      if (!states || states->size() <= stop.alloc_states.size()) states = &stop.alloc_states;
      kept.alloc_states = *states;
    }
  std::map<std::pair<std::string, std::string>, std::shared_ptr<const model::Job>> preempted_jobs;
  for (const auto& [node_id, allocs] : result.node_preemptions)
    for (const model::Allocation& preempted : allocs) {
      model::Allocation& kept = entry.preempted.emplace_back();
      kept.id = preempted.id;
      kept.preempted_by_allocation = preempted.preempted_by_allocation;
      kept.modify_time = now;
      if (const auto stored = log_.alloc(preempted.id))
        if (auto job = log_.job(stored->namespace_, stored->job_id))
          preempted_jobs.emplace(std::pair(stored->namespace_, stored->job_id), std::move(job));
    }
  for (const auto& [name, job] : preempted_jobs) {  // R-CTRL-627
    model::Evaluation& eval = entry.preemption_evals.emplace_back();
    eval.id = next_id_();
    eval.namespace_ = name.first;
    eval.job_id = name.second;
    eval.triggered_by = "preemption";
    eval.type = job->type;
    eval.priority = job->priority;
    eval.status = "pending";
    eval.create_time = eval.modify_time = now;
  }
  const std::uint64_t index = log_.next_index();
  // What fails in state is reported to nobody (R-CTRL-604): the answer is that of the optimistic view.
  const std::string failed = log_.apply(index, entry, out.hooks);
  out.committed = failed.empty();
  out.error = failed;
  committed_since_ = true;
  last_commit_ = index;
  result.alloc_index = index;
  if (result.refresh_index != 0) result.refresh_index = std::max(result.refresh_index, index);  // R-CTRL-622
  for (auto& [node_id, allocs] : result.node_allocation)                                        // R-CTRL-623
    for (model::Allocation& alloc : allocs) {
      const AllocRow row = row_in_view(alloc.id);
      alloc.create_index = row == kNoRow ? index : view_->allocs.create_index[row];
      alloc.modify_index = index;
    }
}

}  // namespace berth::plan
