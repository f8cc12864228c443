#include "sched/to_model.h"

#include <algorithm>

#include "model/codec/codec.h"
#include "model/plan_predicates.h"
#include "model/predicates.h"
#include "tables/export.h"

namespace berth::sched {

using tables::CompiledJob;
using tables::kNoRow;
using tables::Snapshot;

namespace {

const CompiledJob* job_of(const Naming& naming, const PlanRows& plan) {
  return plan.job == kNoRow ? nullptr : naming.snapshot.jobs.versions[plan.job].get();
}

/// The plan's job as it is stored: its ModifyIndex and status are those of now (R-CTRL-720).
const std::shared_ptr<const model::Job>& stored_object(const Naming& naming, const CompiledJob& job) {
  return naming.snapshot.jobs.objects[job.key];
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
  const tables::VersionRow job = naming.snapshot.allocs.job[row];
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

std::string id_text(base::Uuid id) { return id.is_nil() ? std::string() : base::to_text(id); }

/// `asked`: system jobs tell of preemptions only in plans made for their annotations (R-SCHED-102).
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

std::map<std::string, model::AllocMetric> failures(const Naming& naming, const EvalResult& result) {
  std::map<std::string, model::AllocMetric> out;
  const CompiledJob* job = job_of(naming, result.plan);
  for (const GroupResult& group : result.groups)
    if (group.failed)
      out[naming.snapshot.text(group.name)] = failure_metric(naming, group, job ? job->spec->node_pool : std::string());
  return out;
}

void note_in_tracker(model::Allocation& alloc, const char* note) {
  if (!alloc.reschedule_tracker) alloc.reschedule_tracker.emplace();
  alloc.reschedule_tracker->last_reschedule = note;
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

/// An entry of NodeUpdate (R-SCHED-23, 94).
model::Allocation stopped(const Naming& naming, const PlanRows& plan, const plan::PlannedStop& stop, std::int64_t now) {
  model::Allocation out = tables::to_alloc(naming.snapshot, stop.alloc);
  if (stop.replaced) {
    note_in_tracker(out, "ok");
    if (stop.keeps_description) out.desired_status = "stop", out.desired_description = to_text(stop.description);
    return out;
  }
  out.job.reset();
  out.resources = {};
  out.desired_status = "stop";
  out.desired_description = to_text(stop.description);
  if (stop.came_back) out.alloc_states.push_back({0, out.client_status, base::Time{now}});
  if (stop.client) {
    out.client_status = to_text(*stop.client);
    out.alloc_states.push_back({0, out.client_status, base::Time{now}});
  }
  if (stop.followup != kNoRow) out.followup_eval_id = base::to_text(plan.followups[stop.followup]);
  return out;
}

/// An existing allocation in NodeAllocation.
model::Allocation updated(const Naming& naming, const PlanRows& plan, const plan::PlannedUpdate& update,
                          const model::Evaluation& eval, std::int64_t now) {
  using Kind = plan::PlannedUpdate::Kind;
  using Note = plan::PlannedUpdate::Note;
  model::Allocation out = tables::to_alloc(naming.snapshot, update.alloc);
  if (update.followup != kNoRow) out.followup_eval_id = base::to_text(plan.followups[update.followup]);
  switch (update.kind) {
    case Kind::in_place:
      out.eval_id = eval.id;
      out.resources = {};
      if (update.held) out.allocated_resources = *update.held->resources;
      if (update.to_deployment) {
        out.deployment_id = id_text(plan.deployment_ids.front());
        out.deployment_status.reset();
      }
      if (update.came_back) model::note_client_status(out, now);
      if (update.metrics) out.metrics = to_model(naming, *update.metrics, "");
      out.job.reset();
      break;
    case Kind::unknown:
      out.resources = {};
      model::become_unknown(out, now);
      break;
    case Kind::reconnects:
      model::note_client_status(out, now);
      out.job.reset();
      break;
    case Kind::annotated:
      out.job.reset();
      break;
    case Kind::not_placed:
      if (const CompiledJob* job = job_of(naming, plan)) out.job = stored_object(naming, *job);
      break;
    case Kind::given:
      BERTH_ASSERT(false);  // no scheduler makes such ones
  }
  if (update.note != Note::none) note_in_tracker(out, update.note == Note::ok ? "ok" : "no placement");
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
    for (std::size_t c = 0; c < kComponents; ++c)
      if (node.logged >> c & 1) meta.scores[kComponentNames[c]] = metrics.value(node, c);
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
      if (memory) sum.memory_mb += exhausted.times * task.resources->memory_mb;
      if (cpu) sum.cpu += exhausted.times * task.resources->cpu;
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

model::Plan to_model(const Naming& naming, const EvalResult& result, const model::Evaluation& eval, std::int64_t now) {
  const PlanRows& rows = result.plan;
  const Snapshot& snapshot = naming.snapshot;
  model::Plan plan;
  plan.eval_id = eval.id;
  plan.priority = eval.priority;
  const CompiledJob* job = job_of(naming, rows);
  if (job) {
    plan.job = stored_object(naming, *job);
    plan.all_at_once = job->spec->all_at_once;
    plan.job_namespace = job->spec->namespace_;
    plan.job_id = job->spec->id;
  }
  plan.deployment = planned_deployment(naming, result, eval.priority, now);
  for (const plan::PlannedStatus& update : rows.deployment_updates)
    plan.deployment_updates.push_back(
        {base::to_text(update.deployment), std::string(update.status), std::string(update.description), 0});
  for (const plan::PlannedStop& stop : rows.stops) {
    if (stop.evict || stop.dropped) continue;
    const tables::VersionRow version = snapshot.allocs.job[stop.alloc];
    if (plan.job_id.empty() && version != kNoRow) {  // R-SCHED-23
      plan.job = snapshot.jobs.versions[version]->spec;
      plan.job_namespace = plan.job->namespace_;
      plan.job_id = plan.job->id;
    }
    model::Allocation out = stopped(naming, rows, stop, now);
    auto& list = plan.node_update[out.node_id];
    list.push_back(std::move(out));
  }
  for (const plan::PlannedUpdate& update : rows.updates) {
    if (update.dropped) continue;
    model::Allocation out = updated(naming, rows, update, eval, now);
    auto& list = plan.node_allocation[out.node_id];
    list.push_back(std::move(out));
  }
  auto stop = rows.stops.begin();
  // The evictions up to those of the allocation at `position`; they ascend but for those of dropped ones.
  const auto evict_until = [&](std::uint32_t position, model::Allocation* by) {
    for (; stop != rows.stops.end() && (!stop->evict || stop->by >= plan::kDroppedBy || stop->by == position); ++stop) {
      if (!stop->evict) continue;
      if (by && stop->by == position)
        by->preempted_allocations.push_back(base::to_text(snapshot.allocs.id[stop->alloc]));
      plan.node_preemptions[base::to_text(snapshot.nodes.id(snapshot.allocs.node[stop->alloc]))].push_back(
          evicted(naming, stop->alloc,
                  by && stop->by == position ? by->id : base::to_text(rows.dropped[stop->by - plan::kDroppedBy].id)));
    }
  };
  for (const PlannedAlloc& alloc : rows.allocs) {
    const CompiledJob& of = alloc.job == kNoRow ? *job : *snapshot.jobs.versions[alloc.job];
    model::Allocation out;
    out.id = base::to_text(alloc.id);
    out.namespace_ = job->spec->namespace_;
    out.eval_id = eval.id;
    out.name = planned_name(snapshot, rows, alloc);
    out.node_id = base::to_text(snapshot.nodes.id(alloc.node));
    out.node_name = *snapshot.value_text(tables::kNameColumn, alloc.node);
    out.job_id = job->spec->id;
    if (alloc.job != kNoRow) out.job = of.spec;
    out.task_group = of.groups[alloc.group].spec->name;
    out.allocated_resources = *alloc.held->resources;
    out.metrics = to_model(naming, alloc.metrics, job->spec->node_pool);
    out.desired_status = "run";
    out.client_status = "pending";
    out.deployment_id = id_text(rows.deployment_ids[alloc.deployment]);
    if (alloc.canary) out.deployment_status.emplace().canary = true;
    if (alloc.previous != kNoRow) out.previous_allocation = base::to_text(snapshot.allocs.id[alloc.previous]);
    if (alloc.tracker != kNoRow) out.reschedule_tracker = rows.trackers[alloc.tracker];
    if (alloc.task_states != kNoRow) out.task_states = rows.task_states[alloc.task_states];
    const auto position = static_cast<std::uint32_t>(&alloc - rows.allocs.data());
    evict_until(position, &out);
    plan.node_allocation[out.node_id].push_back(std::move(out));
  }
  evict_until(kNoRow, nullptr);
  if (eval.annotate_plan) plan.annotations = annotations(naming, result, true);
  return plan;
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
