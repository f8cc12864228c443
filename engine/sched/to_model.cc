#include "sched/to_model.h"

#include "base/json.h"
#include "base/wrap.h"
#include "model/codec/codec.h"
#include "model/job.h"
#include "model/plan_predicates.h"
#include "sched/node/component_table.h"
#include "sched/planned.h"
#include "sched/scratch.h"
#include "tables/export.h"
#include "tables/state.h"

namespace berth::sched {

using tables::CompiledJob;
using tables::kNoRow;
using tables::Snapshot;

namespace {

/// List entry of an allocation, without resources (R-SCHED-191).
json::Value stub(const Naming& naming, tables::AllocRow row) {
  json::Value out = model::alloc_stub(tables::to_alloc(naming.snapshot, row));
  const tables::VersionRow job = naming.snapshot.allocs.job[row];
  if (job != kNoRow) {
    out.set("JobType", naming.snapshot.jobs.versions[job]->spec->type);
    out.set("JobVersion", naming.snapshot.jobs.versions[job]->spec->version);
  }
  return out;
}

/// A new deployment of which only the groups are known.
model::Deployment new_deployment(const Naming& naming, const EvalResult& result, const CompiledJob& job,
                                 std::int64_t priority, std::int64_t now) {
  model::Deployment d =
      model::new_deployment(*stored_object(naming, job), base::to_text(result.deployment_id), priority, now);
  for (const auto& [group, desired_total] : result.deployment_groups) {
    const model::UpdateStrategy& update = *job.groups[group].spec->update;
    model::DeploymentState& state = d.task_groups[job.groups[group].spec->name].emplace();
    state.auto_revert = update.auto_revert;
    state.auto_promote = update.auto_promote;
    state.progress_deadline = update.progress_deadline;
    state.desired_total = desired_total;
  }
  return d;
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
    if (metrics.names_pool) out.node_pool = pool;
    const tables::KeyedColumn& datacenters = snapshot.nodes.column(tables::kDatacenterColumn);
    for (const ReadyNodes::Available& a : naming.scratch.ready_nodes(metrics.base_set).available())
      out.nodes_available[snapshot.text(datacenters.value(a.datacenter))] = a.count;
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
    for (std::size_t c = 0; c < kScoreComponents.size(); ++c)
      if (node.logged >> c & 1) meta.scores[kScoreComponents[c].name] = metrics.value(node, c);
  }
  return out;
}

model::AllocMetric failure_metric(const Naming& naming, const GroupResult& result, const std::string& pool) {
  model::AllocMetric out = to_model(naming, result.failure, pool);
  if (out.dimension_exhausted.empty()) return out;
  const bool memory = out.dimension_exhausted.contains("memory"), cpu = out.dimension_exhausted.contains("cpu");
  for (const GroupResult::Exhausted& exhausted : result.exhausted)
    for (const model::Task& task : exhausted.group->tasks) {
      model::Resources& sum = out.resources_exhausted[task.name];
      if (!task.resources) continue;
      if (memory) base::wrap_add_to(sum.memory_mb, base::wrap_mul(exhausted.times, task.resources->memory_mb));
      if (cpu) base::wrap_add_to(sum.cpu, base::wrap_mul(exhausted.times, task.resources->cpu));
    }
  return out;
}

std::string planned_name(const tables::Snapshot& snapshot, const PlanRows& plan, const PlannedAlloc& alloc) {
  if (alloc.keeps_name) return tables::alloc_name(snapshot, alloc.previous);
  const CompiledJob& job = *snapshot.jobs.versions[alloc.job == kNoRow ? plan.job : alloc.job];
  return job.name_base() + "." + job.groups[alloc.group].spec->name + "[" + std::to_string(alloc.name_index) + "]";
}

std::optional<model::Deployment> planned_deployment(const Naming& naming, const EvalResult& result,
                                                    std::int64_t priority, std::int64_t now) {
  if (!result.plan.has_deployment) return std::nullopt;
  if (result.plan.deployment) return *result.plan.deployment;
  return new_deployment(naming, result, *job_of(naming, result.plan), priority, now);
}

std::map<std::string, model::AllocMetric> failures(const Naming& naming, const EvalResult& result) {
  std::map<std::string, model::AllocMetric> out;
  const CompiledJob* job = job_of(naming, result.plan);
  for (const GroupResult& group : result.groups)
    if (group.failed)
      out[naming.snapshot.text(group.name)] =
          failure_metric(naming, group, job ? *job->spec->node_pool : std::string());
  return out;
}

model::PlanAnnotations annotations(const Naming& naming, const EvalResult& result, bool asked) {
  model::PlanAnnotations out;
  for (const GroupResult& group : result.groups)
    if (group.has_updates) out.desired_tg_updates[naming.snapshot.text(group.name)] = group.updates;
  const CompiledJob* job = job_of(naming, result.plan);
  if (!job || (is_of_system(job->type) && !asked)) return out;
  for (const plan::PlannedStop& stop : result.plan.stops) {
    if (!stop.evict) continue;
    if (out.preempted_allocs.is_null()) out.preempted_allocs = json::Value::array();
    out.preempted_allocs.push(stub(naming, stop.alloc));
    if (stop.by >= plan::kDroppedBy) {
      ++out.desired_tg_updates[job->groups[result.plan.dropped[stop.by - plan::kDroppedBy].group].spec->name]
            .preemptions;
      continue;
    }
    const PlannedAlloc& alloc = result.plan.allocs[stop.by];
    const CompiledJob& of = alloc.job == kNoRow ? *job : *naming.snapshot.jobs.versions[alloc.job];
    ++out.desired_tg_updates[of.groups[alloc.group].spec->name].preemptions;
  }
  return out;
}

namespace {

void write_eligibility(const Naming& naming, const Eligibility& eligibility, bool always, model::Evaluation& out) {
  out.escaped_computed_class = eligibility.escaped;
  if (always || !eligibility.escaped) {
    auto& classes = out.class_eligibility.emplace();
    for (const auto& [node_class, eligible] : eligibility.classes) classes[naming.snapshot.text(node_class)] = eligible;
  }
  out.missing_non_node_resources = eligibility.missing_resources;
}

}  // namespace

model::Evaluation created_eval(const Naming& naming, const EvalResult& result, const CreatedEval& created,
                               const model::Evaluation& eval, std::int64_t now) {
  model::Evaluation out;
  if (created.followup) {
    out = *created.followup;
    out.previous_eval = eval.id;
    if (out.triggered_by == "rolling-update") out.job_modify_index = eval.job_modify_index;  // R-SEED-34
    return out;
  }
  out.id = base::to_text(created.id);  // R-SCHED-52
  out.namespace_ = eval.namespace_;
  out.priority = eval.priority;
  out.type = eval.type;
  out.job_id = eval.job_id;
  out.job_modify_index = eval.job_modify_index;
  out.triggered_by = created.triggered_by;
  out.status = "blocked";
  out.status_description = created.description;
  out.previous_eval = eval.id;
  out.failed_tg_allocs = failures(naming, result);
  write_eligibility(naming, *created.eligibility, false, out);
  if (created.node != kNoRow) out.node_id = base::to_text(naming.snapshot.nodes.id(created.node));
  out.create_time = out.modify_time = now;
  return out;
}

model::Evaluation reblocked_eval(const Naming& naming, const EvalResult& result, const model::Evaluation& eval) {
  model::Evaluation out = eval;
  if (!result.next_eval.is_nil()) out.next_eval = base::to_text(result.next_eval);
  write_eligibility(naming, result.eligibility, true, out);
  out.quota_limit_reached.clear();
  return out;
}

model::Evaluation updated_eval(const Naming& naming, const EvalResult& result, const model::Evaluation& eval) {
  model::Evaluation out = eval;
  out.status = result.status == EvalStatus::complete ? "complete" : "failed";
  out.status_description = result.description;
  out.deployment_id = id_text(result.deployment_id);
  out.failed_tg_allocs = failures(naming, result);
  out.plan_annotations.reset();
  if (result.has_queued) {
    out.plan_annotations = annotations(naming, result, eval.annotate_plan);
    auto& queued = out.queued_allocations.emplace();
    for (const GroupResult& group : result.groups)
      if (group.has_queued) queued[naming.snapshot.text(group.name)] = group.queued;
  }
  if (result.has_blocked) out.blocked_eval = base::to_text(result.blocked_id);
  if (!result.next_eval.is_nil()) out.next_eval = base::to_text(result.next_eval);
  return out;
}

}  // namespace berth::sched
