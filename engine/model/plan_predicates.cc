#include "model/plan_predicates.h"

#include "model/job.h"

namespace berth::model {

bool is_no_op(const Plan& plan) {
  return plan.node_update.empty() && plan.node_allocation.empty() && !plan.deployment &&
         plan.deployment_updates.empty();
}

bool is_no_op(const PlanResult& result) {
  return result.ineligible_nodes.empty() && result.node_update.empty() && result.node_allocation.empty() &&
         result.deployment_updates.empty() && !result.deployment;
}

Commit full_commit(const PlanResult& result, const Plan& plan) {
  Commit out;
  for (const auto& [node_id, allocs] : plan.node_allocation) {
    out.expected += static_cast<std::int64_t>(allocs.size());
    if (const auto done = result.node_allocation.find(node_id); done != result.node_allocation.end())
      out.actual += static_cast<std::int64_t>(done->second.size());
  }
  out.full = out.expected == out.actual;
  return out;
}

Deployment new_deployment(const Job& job, std::string id, std::int64_t eval_priority, std::int64_t now) {
  Deployment out;
  out.id = std::move(id);
  out.namespace_ = job.namespace_;
  out.job_id = job.id;
  out.job_version = job.version;
  out.job_modify_index = job.modify_index;
  out.job_spec_modify_index = job.job_modify_index;
  out.job_create_index = job.create_index;
  out.is_multiregion = !job.multiregion->is_null();
  out.status = "running";
  out.status_description = "Deployment is running";
  out.eval_priority = eval_priority;
  out.create_time = now;
  return out;
}

void keep_stored_counts(Deployment& planned, const Deployment& stored) {
  for (const auto& [name, before] : stored.task_groups) {
    const auto group = planned.task_groups.find(name);
    if (group == planned.task_groups.end()) {
      planned.task_groups.emplace(name, before);
    } else if (group->second && before) {
      group->second->placed_allocs = before->placed_allocs;
      group->second->healthy_allocs = before->healthy_allocs;
      group->second->unhealthy_allocs = before->unhealthy_allocs;
      group->second->require_progress_by = before->require_progress_by;
    }
  }
}

bool undoes_promotion(const Deployment& planned, const Deployment& stored) {
  for (const auto& [name, before] : stored.task_groups) {
    const auto group = planned.task_groups.find(name);
    if (before && before->promoted && group != planned.task_groups.end() && !(group->second && group->second->promoted))
      return true;
  }
  return false;
}

void normalize(Plan& plan, const Quirks& quirks) {
  for (auto& [node_id, allocs] : plan.node_update)
    for (Allocation& alloc : allocs) {
      Allocation kept;
      kept.id = std::move(alloc.id);
      kept.desired_description = std::move(alloc.desired_description);
      kept.client_status = std::move(alloc.client_status);
      kept.followup_eval_id = std::move(alloc.followup_eval_id);
      kept.reschedule_tracker = std::move(alloc.reschedule_tracker);
      if (!quirks.stop_erases_states) kept.alloc_states = std::move(alloc.alloc_states);
      alloc = std::move(kept);
    }
  for (auto& [node_id, allocs] : plan.node_preemptions)
    for (Allocation& alloc : allocs) {
      Allocation kept;
      kept.id = std::move(alloc.id);
      kept.preempted_by_allocation = std::move(alloc.preempted_by_allocation);
      alloc = std::move(kept);
    }
}

}  // namespace berth::model
