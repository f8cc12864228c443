#include "model/plan_predicates.h"

namespace berth::model {

void append_stopped(Plan& plan, const Allocation& alloc, std::string_view description, std::string_view client_status,
                    std::string_view followup_eval_id, std::int64_t now) {
  if (!plan.job && plan.job_namespace.empty() && plan.job_id.empty() && alloc.job) {
    plan.job = alloc.job;
    plan.job_namespace = alloc.job->namespace_;
    plan.job_id = alloc.job->id;
  }
  Allocation stopped = alloc;
  stopped.job.reset();
  stopped.resources = {};
  stopped.desired_status = "stop";
  stopped.desired_description = description;
  if (!client_status.empty()) {
    stopped.client_status = client_status;
    stopped.alloc_states.push_back({0, std::string(client_status), base::Time{now}});
  }
  if (!followup_eval_id.empty()) stopped.followup_eval_id = followup_eval_id;
  plan.node_update[alloc.node_id].push_back(std::move(stopped));
}

void append_preempted(Plan& plan, const Allocation& alloc, std::string_view evictor_id) {
  Allocation evicted;
  evicted.id = alloc.id;
  evicted.job_id = alloc.job_id;
  evicted.namespace_ = alloc.namespace_;
  evicted.desired_status = "evict";
  evicted.preempted_by_allocation = evictor_id;
  evicted.desired_description = "Preempted by alloc ID " + std::string(evictor_id);
  evicted.allocated_resources = alloc.allocated_resources;
  plan.node_preemptions[alloc.node_id].push_back(std::move(evicted));
}

void append_alloc(Plan& plan, Allocation alloc, std::shared_ptr<const Job> job) {
  alloc.job = std::move(job);
  auto& list = plan.node_allocation[alloc.node_id];
  list.push_back(std::move(alloc));
}

void append_unknown(Plan& plan, Allocation alloc) {
  alloc.resources = {};
  auto& list = plan.node_allocation[alloc.node_id];
  list.push_back(std::move(alloc));
}

void pop_update(Plan& plan, const Allocation& alloc) {
  const auto entry = plan.node_update.find(alloc.node_id);
  if (entry == plan.node_update.end() || entry->second.empty() || entry->second.back().id != alloc.id) return;
  entry->second.pop_back();
  if (entry->second.empty()) plan.node_update.erase(entry);
}

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
  out.is_multiregion = !job.multiregion.is_null();
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
