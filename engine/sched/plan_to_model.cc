// Plans as API objects.
#include "model/job.h"
#include "model/predicates.h"
#include "sched/planned.h"
#include "tables/export.h"
#include "tables/state.h"

namespace berth::sched {

using tables::CompiledJob;
using tables::kNoRow;
using tables::Snapshot;

namespace {

/// The plan's copy of an evicted allocation (R-PREEMPT-802).
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

void note_in_tracker(model::Allocation& alloc, const char* note) {
  if (!alloc.reschedule_tracker) alloc.reschedule_tracker.emplace();
  alloc.reschedule_tracker->last_reschedule = note;
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
      BERTH_ASSERT(false);  // no scheduler creates such updates
  }
  if (update.note != Note::none) note_in_tracker(out, update.note == Note::ok ? "ok" : "no placement");
  return out;
}

/// The new allocation without the evictions for it.
model::Allocation placed(const Naming& naming, const PlanRows& rows, const CompiledJob& job, const PlannedAlloc& alloc,
                         const model::Evaluation& eval) {
  const Snapshot& snapshot = naming.snapshot;
  const CompiledJob& of = alloc.job == kNoRow ? job : *snapshot.jobs.versions[alloc.job];
  model::Allocation out;
  out.id = base::to_text(alloc.id);
  out.namespace_ = job.spec->namespace_;
  out.eval_id = eval.id;
  out.name = planned_name(snapshot, rows, alloc);
  out.node_id = base::to_text(snapshot.nodes.id(alloc.node));
  out.node_name = *snapshot.value_text(tables::kNameColumn, alloc.node);
  out.job_id = job.spec->id;
  if (alloc.job != kNoRow) out.job = of.spec;
  out.task_group = of.groups[alloc.group].spec->name;
  out.allocated_resources = *alloc.held->resources;
  out.metrics = to_model(naming, alloc.metrics, job.spec->node_pool);
  out.desired_status = "run";
  out.client_status = "pending";
  out.deployment_id = id_text(rows.deployment_ids[alloc.deployment]);
  if (alloc.canary) out.deployment_status.emplace().canary = true;
  if (alloc.previous != kNoRow) out.previous_allocation = base::to_text(snapshot.allocs.id[alloc.previous]);
  if (alloc.tracker != kNoRow) out.reschedule_tracker = rows.trackers[alloc.tracker];
  if (alloc.task_states != kNoRow) out.task_states = rows.task_states[alloc.task_states];
  return out;
}

}  // namespace

model::Plan to_model(const Naming& naming, const EvalResult& result, const model::Evaluation& eval, std::int64_t now) {
  const PlanRows& rows = result.plan;
  const Snapshot& snapshot = naming.snapshot;
  model::Plan plan;
  plan.eval_id = eval.id;
  plan.priority = eval.priority;
  const CompiledJob* job = job_of(naming, rows);
  if (job) {
    plan.job = stored_object(naming, *job);
    plan.all_at_once = job->spec->all_at_once || job->gang;
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
  // Writes the evictions up to those for the allocation at `position`; they ascend, except those of dropped
  // allocations.
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
    model::Allocation out = placed(naming, rows, *job, alloc, eval);
    const auto position = static_cast<std::uint32_t>(&alloc - rows.allocs.data());
    evict_until(position, &out);
    plan.node_allocation[out.node_id].push_back(std::move(out));
  }
  evict_until(kNoRow, nullptr);
  if (eval.annotate_plan) plan.annotations = annotations(naming, result, true);
  return plan;
}

}  // namespace berth::sched
