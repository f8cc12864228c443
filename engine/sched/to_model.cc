#include "sched/to_model.h"

#include <algorithm>

#include "model/codec.h"
#include "tables/export.h"

namespace berth::sched {

using tables::CompiledJob;
using tables::kNoRow;
using tables::Snapshot;

namespace {

const CompiledJob* current_job(const Snapshot& snapshot, const model::Evaluation& eval) {
  for (std::size_t i = 0; i < snapshot.jobs.versions.size(); ++i) {
    const CompiledJob& job = *snapshot.jobs.versions[i];
    if (job.spec->id == eval.job_id && job.spec->namespace_ == eval.namespace_ &&
        snapshot.jobs.keys[job.key].current == i)
      return &job;
  }
  return nullptr;
}

/// R-SCHED-191: list stub of an allocation, without resources.
json::Value stub(const Naming& naming, tables::AllocRow row) {
  static constexpr const char* kKeys[] = {"ID",
                                          "EvalID",
                                          "Name",
                                          "Namespace",
                                          "NodeID",
                                          "NodeName",
                                          "JobID",
                                          "TaskGroup",
                                          "DesiredStatus",
                                          "DesiredDescription",
                                          "DesiredTransition",
                                          "ClientStatus",
                                          "ClientDescription",
                                          "TaskStates",
                                          "DeploymentStatus",
                                          "FollowupEvalID",
                                          "NextAllocation",
                                          "RescheduleTracker",
                                          "PreemptedAllocations",
                                          "PreemptedByAllocation",
                                          "CreateIndex",
                                          "ModifyIndex",
                                          "CreateTime",
                                          "ModifyTime"};
  const json::Value whole = model::to_json(tables::to_alloc(naming.snapshot, row));
  json::Value out = json::Value::object();
  for (const char* key : kKeys)
    if (const json::Value* value = whole.find(key)) out.set(key, *value);
  const tables::JobRow job = naming.snapshot.allocs.job[row];
  if (job != kNoRow) {
    out.set("JobType", naming.snapshot.jobs.versions[job]->spec->type);
    out.set("JobVersion", naming.snapshot.jobs.versions[job]->spec->version);
  }
  return out;
}

/// R-PREEMPT-802: what the plan says of a victim.
model::Allocation evicted(const Naming& naming, tables::AllocRow row, const std::string& by) {
  const tables::AllocTable& allocs = naming.snapshot.allocs;
  const tables::JobKey& key = naming.snapshot.jobs.keys[allocs.job_key[row]];
  model::Allocation out;
  out.id = base::to_text(allocs.id[row]);
  out.namespace_ = naming.snapshot.text(key.job_namespace);
  out.job_id = naming.snapshot.text(key.job_id);
  out.desired_status = "evict";
  out.desired_description = "Preempted by alloc ID " + by;
  out.preempted_by_allocation = by;
  if (const auto& resources = allocs.shape_of(row).resources) out.allocated_resources = *resources;
  return out;
}

model::PlanAnnotations annotations(const Naming& naming, const EvalResult& result) {
  model::PlanAnnotations out;
  for (const GroupResult& group : result.groups)
    out.desired_tg_updates[naming.snapshot.text(group.name)].place = group.place;
  for (const plan::PlannedStop& stop : result.plan.stops) {  // R-SCHED-102
    if (!stop.evict) continue;
    const CompiledJob& job = *naming.snapshot.jobs.versions[result.plan.job];
    ++out.desired_tg_updates[job.groups[result.plan.allocs[stop.by].group].spec->name].preemptions;
    if (out.preempted_allocs.is_null()) out.preempted_allocs = json::Value::array();
    out.preempted_allocs.push(stub(naming, stop.alloc));
  }
  return out;
}

std::map<std::string, model::AllocMetric> failures(const Naming& naming, const EvalResult& result,
                                                   const CompiledJob* job) {
  std::map<std::string, model::AllocMetric> out;
  if (!job) return out;
  for (std::size_t g = 0; g < result.groups.size(); ++g)
    if (result.groups[g].failed)
      out[naming.snapshot.text(result.groups[g].name)] =
          failure_metric(naming, result.groups[g], job->groups[g], job->spec->node_pool);
  return out;
}

}  // namespace

model::AllocMetric to_model(const Naming& naming, const SelectMetrics& metrics, const std::string& pool) {
  const Snapshot& snapshot = naming.snapshot;
  model::AllocMetric out;
  out.nodes_evaluated = metrics.evaluated;
  out.nodes_filtered = metrics.filtered;
  out.nodes_exhausted = metrics.exhausted;
  out.coalesced_failures = metrics.coalesced;
  if (metrics.has_pool) {
    out.nodes_in_pool = metrics.in_pool;
    out.node_pool = pool;
    const tables::KeyedColumn& datacenters = snapshot.nodes.column(tables::kDatacenterColumn);
    for (const Count& c : naming.scratch.ready[metrics.base_set].available)
      out.nodes_available[snapshot.text(datacenters.value(c.what))] = c.count;
  }
  const tables::KeyedColumn& classes = snapshot.nodes.column(tables::kClassColumn);
  for (const Count& c : metrics.reasons) out.constraint_filtered[naming.scratch.reasons.text(c.what)] += c.count;
  for (const Count& c : metrics.classes_filtered) out.class_filtered[snapshot.text(classes.value(c.what))] = c.count;
  for (const Count& c : metrics.dimensions) out.dimension_exhausted[naming.scratch.reasons.text(c.what)] += c.count;
  for (const Count& c : metrics.classes_exhausted) out.class_exhausted[snapshot.text(classes.value(c.what))] = c.count;
  for (const ScoredNode& node : metrics.top) {
    model::ScoreMeta& meta = out.score_meta_data.emplace_back();
    meta.node_id = base::to_text(snapshot.nodes.id(node.node));
    meta.norm_score = node.norm;
    for (std::size_t c = 0; c < kComponents; ++c)
      if (node.logged >> c & 1) meta.scores[kComponentNames[c]] = node.value[c];
  }
  return out;
}

model::AllocMetric failure_metric(const Naming& naming, const GroupResult& result, const tables::CompiledGroup& group,
                                  const std::string& pool) {
  model::AllocMetric out = to_model(naming, result.failure, pool);
  if (out.dimension_exhausted.empty()) return out;
  const bool memory = out.dimension_exhausted.contains("memory"), cpu = out.dimension_exhausted.contains("cpu");
  const std::int64_t times = result.failure.coalesced + 1;
  for (const model::Task& task : group.spec->tasks) {
    model::Resources& sum = out.resources_exhausted[task.name];
    if (!task.resources) continue;
    if (memory) sum.memory_mb += times * task.resources->memory_mb;
    if (cpu) sum.cpu += times * task.resources->cpu;
  }
  return out;
}

model::Plan to_model(const Naming& naming, const EvalResult& result, const model::Evaluation& eval, std::int64_t now) {
  model::Plan plan;
  plan.eval_id = eval.id;
  plan.priority = eval.priority;
  const CompiledJob* job = current_job(naming.snapshot, eval);
  if (!job) return plan;
  plan.job = job->spec;
  plan.all_at_once = job->spec->all_at_once;
  plan.job_namespace = job->spec->namespace_;
  plan.job_id = job->spec->id;
  const std::string deployment_id = result.deployment_id.is_nil() ? "" : base::to_text(result.deployment_id);
  if (!deployment_id.empty()) {
    model::Deployment& d = plan.deployment.emplace();
    d.id = deployment_id;
    d.namespace_ = job->spec->namespace_;
    d.job_id = job->spec->id;
    d.job_version = job->spec->version;
    d.job_modify_index = job->spec->modify_index;
    d.job_spec_modify_index = job->spec->job_modify_index;
    d.job_create_index = job->spec->create_index;
    d.is_multiregion = !job->spec->multiregion.is_null();
    d.status = "running";
    d.status_description = "Deployment is running";
    d.eval_priority = eval.priority;
    d.create_time = now;
    for (const auto& [group, desired_total] : result.deployment_groups) {
      const model::UpdateStrategy& update = *job->groups[group].spec->update;
      model::DeploymentState& state = d.task_groups[job->groups[group].spec->name].emplace();
      state.auto_revert = update.auto_revert;
      state.auto_promote = update.auto_promote;
      state.progress_deadline = update.progress_deadline;
      state.desired_total = desired_total;
    }
  }
  auto stop = result.plan.stops.begin();
  for (const PlannedAlloc& alloc : result.plan.allocs) {
    const tables::CompiledGroup& group = job->groups[alloc.group];
    model::Allocation out;
    out.id = base::to_text(alloc.id);
    out.namespace_ = job->spec->namespace_;
    out.eval_id = eval.id;
    out.name = job->spec->id + "." + group.spec->name + "[" + std::to_string(alloc.name_index) + "]";
    out.node_id = base::to_text(naming.snapshot.nodes.id(alloc.node));
    out.node_name = *naming.snapshot.value_text(tables::kNameColumn, alloc.node);
    out.job_id = job->spec->id;
    out.task_group = group.spec->name;
    out.allocated_resources = *alloc.held->resources;
    out.metrics = to_model(naming, alloc.metrics, job->spec->node_pool);
    out.desired_status = "run";
    out.client_status = "pending";
    out.deployment_id = deployment_id;
    const auto position = static_cast<std::uint32_t>(&alloc - result.plan.allocs.data());
    for (; stop != result.plan.stops.end() && (!stop->evict || stop->by == position); ++stop) {
      if (!stop->evict) continue;
      out.preempted_allocations.push_back(base::to_text(naming.snapshot.allocs.id[stop->alloc]));
      plan.node_preemptions[out.node_id].push_back(evicted(naming, stop->alloc, out.id));
    }
    plan.node_allocation[out.node_id].push_back(std::move(out));
  }
  if (eval.annotate_plan) plan.annotations = annotations(naming, result);
  return plan;
}

std::vector<model::Evaluation> created_evals(const Naming& naming, const EvalResult& result,
                                             const model::Evaluation& eval, std::int64_t now) {
  std::vector<model::Evaluation> out;
  if (!result.has_blocked) return out;
  model::Evaluation& blocked = out.emplace_back();  // R-SCHED-52
  blocked.id = base::to_text(result.blocked_id);
  blocked.namespace_ = eval.namespace_;
  blocked.priority = eval.priority;
  blocked.type = eval.type;
  blocked.job_id = eval.job_id;
  blocked.job_modify_index = eval.job_modify_index;
  blocked.triggered_by = "queued-allocs";
  blocked.status = "blocked";
  blocked.status_description = "created to place remaining allocations";
  blocked.previous_eval = eval.id;
  blocked.failed_tg_allocs = failures(naming, result, current_job(naming.snapshot, eval));
  blocked.escaped_computed_class = result.escaped;
  if (!result.escaped) {
    auto& classes = blocked.class_eligibility.emplace();
    const tables::KeyedColumn& column = naming.snapshot.nodes.column(tables::kComputedClassColumn);
    for (const auto& [code, eligible] : result.classes) classes[naming.snapshot.text(column.value(code))] = eligible;
  }
  blocked.missing_non_node_resources = result.missing_resources;
  blocked.create_time = blocked.modify_time = now;
  return out;
}

model::Evaluation reblocked_eval(const Naming& naming, const EvalResult& result, const model::Evaluation& eval) {
  model::Evaluation out = eval;
  out.escaped_computed_class = result.escaped;
  auto& classes = out.class_eligibility.emplace();
  const tables::KeyedColumn& column = naming.snapshot.nodes.column(tables::kComputedClassColumn);
  for (const auto& [code, eligible] : result.classes) classes[naming.snapshot.text(column.value(code))] = eligible;
  out.quota_limit_reached.clear();
  out.missing_non_node_resources = result.missing_resources;
  return out;
}

model::Evaluation updated_eval(const Naming& naming, const EvalResult& result, const model::Evaluation& eval) {
  model::Evaluation out = eval;
  out.status = result.status == EvalStatus::complete ? "complete" : "failed";
  out.status_description = result.description;
  out.deployment_id = result.deployment_id.is_nil() ? "" : base::to_text(result.deployment_id);
  out.failed_tg_allocs = failures(naming, result, current_job(naming.snapshot, eval));
  out.plan_annotations.reset();
  if (result.has_queued) {
    out.plan_annotations = annotations(naming, result);
    auto& queued = out.queued_allocations.emplace();
    for (const GroupResult& group : result.groups)
      if (group.has_queued) queued[naming.snapshot.text(group.name)] = group.queued;
    // R-SCHED-45: what the plan placed is no longer queued.
    const CompiledJob* job = current_job(naming.snapshot, eval);
    if (result.submitted && job)
      for (const PlannedAlloc& alloc : result.plan.allocs) --queued[job->groups[alloc.group].spec->name];
  }
  if (result.has_blocked) out.blocked_eval = base::to_text(result.blocked_id);
  return out;
}

}  // namespace berth::sched
