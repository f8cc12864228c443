// Placements of an attempt: job version, node, and what happens to the allocation that is replaced.
#include <algorithm>

#include "base/stages.h"
#include "model/job.h"
#include "model/predicates.h"
#include "sched/generic.h"

namespace berth::sched {

using reconcile::ClusterResult;
using tables::CompiledGroup;
using tables::CompiledJob;
using tables::Description;
using tables::kNoRow;
using tables::NodeRow;
using tables::Snapshot;

namespace {

/// True if two datacenter lists count as the same set: short lists are compared in one direction only (R-SCHED-70).
bool same_datacenters(const std::vector<std::string>& of_old, const std::vector<std::string>& of_new) {
  static constexpr std::size_t kShort = 10;
  const auto contains = [](const std::vector<std::string>& list, const std::string& text) {
    return std::find(list.begin(), list.end(), text) != list.end();
  };
  const auto all_in = [&](const std::vector<std::string>& a, const std::vector<std::string>& b) {
    return std::all_of(a.begin(), a.end(), [&](const std::string& text) { return contains(b, text); });
  };
  if (of_old.size() <= kShort && of_new.size() <= kShort)
    return of_old.size() == of_new.size() && all_in(of_old, of_new);
  return all_in(of_old, of_new) && all_in(of_new, of_old);
}

}  // namespace

/// One placement to make, from the reconciler's `place` or `destructive_update`.
struct GenericScheduler::Missing {
  std::uint32_t group;  // position in the reconciler's groups, and in result.groups
  std::uint32_t name_index;
  std::uint32_t previous;  // position in allocs_, or kNoRow
  bool destructive = false, canary = false, reschedule = false, lost = false, downgrade = false;
  bool previous_disconnects = false;
  std::uint64_t min_job_version = 0;
};

/// Job version of a placement, and the position of its deployment in the plan's deployment_ids.
struct GenericScheduler::Placing {
  const CompiledJob* version;
  std::uint16_t deployment;
  bool downgraded;
};

bool GenericScheduler::preempts(const CompiledJob& job) const {  // R-SCHED-98, R-PREEMPT-103
  if (gang_.keeps_others) return false;
  const auto& config = given_.state->cold->scheduler_config;
  if (!config) return true;
  return job.type == model::JobType::batch ? config->preemption_config.batch_scheduler_enabled
                                           : config->preemption_config.service_scheduler_enabled;
}

/// Position of a group in the list of a job version, or kNoRow.
std::uint32_t GenericScheduler::group_position(const CompiledJob& job, tables::Symbol name) {
  for (std::uint32_t g = 0; g < job.groups.size(); ++g)
    if (job.groups[g].name == name) return g;
  return kNoRow;
}

/// Makes all placements (R-SCHED-58 to 62). On false, `given_.result` holds an error.
bool GenericScheduler::place_all() {
  PlanRows& plan = given_.result->plan;
  if (!use_version(*job_, true, reconciled_.destructive_update.size() + reconciled_.place.size())) return false;
  keep_to_values();
  const base::StageScope placing(base::placing_stage());
  if (!deployment_is_active_ && !given_.result->deployment_id.is_nil()) {  // R-SCHED-59
    placing_deployment_ = static_cast<std::uint16_t>(plan.deployment_ids.size());
    plan.deployment_ids.emplace_back();
  } else {
    placing_deployment_ = 0;
  }
  const auto facts = allocs_.facts();
  for (const ClusterResult::Destructive& destructive : reconciled_.destructive_update) {
    Missing missing{};
    missing.group = destructive.group;
    missing.name_index = facts[destructive.row].name_index;
    missing.previous = destructive.row;
    missing.destructive = true;
    if (!place(missing)) return false;
  }
  for (const ClusterResult::Place& place_row : reconciled_.place) {
    Missing missing{};
    missing.group = place_row.group;
    missing.name_index = place_row.name_index;
    missing.previous = place_row.previous;
    missing.canary = place_row.canary;
    missing.reschedule = place_row.reschedule;
    missing.lost = place_row.lost;
    missing.downgrade = place_row.downgrade;
    missing.previous_disconnects = place_row.previous_disconnects;
    missing.min_job_version = place_row.min_job_version;
    if (!place(missing)) return false;
  }
  return true;
}

/// The version, and its deployment, of a placement made while canaries are unpromoted (R-SCHED-68 to 70); null: the
/// current version.
const CompiledJob* GenericScheduler::older_version(const Missing& missing, base::Uuid& deployment) const {
  const tables::DeploymentTable& table = given_.state->deployments;
  const std::string& group = reconciled_.groups[missing.group].name;
  const auto version_row = [&](std::uint64_t version) -> const CompiledJob* {
    if (job_->version == version) return job_;
    const tables::JobTable& jobs = given_.state->jobs;
    for (tables::VersionRow row = jobs.newest[given_.eval->job]; row != kNoRow; row = jobs.older[row])
      if (jobs.stored[row] && jobs.versions[row]->version == version) return jobs.versions[row].get();
    return nullptr;
  };
  std::uint32_t best = kNoRow;
  for (std::uint32_t row = given_.state->jobs.keys[given_.eval->job].deployment_head; row != kNoRow;
       row = table.next_of_job[row]) {
    if (!table.object[row]) continue;  // removed
    const model::Deployment& d = *table.object[row];
    if (d.job_create_index != job_->spec->create_index) continue;
    const auto entry = d.task_groups.find(group);
    if (entry == d.task_groups.end() || !entry->second) continue;
    if (!entry->second->promoted && entry->second->desired_canaries != 0) continue;
    if (best == kNoRow || table.job_version[row] > table.job_version[best] ||
        (table.job_version[row] == table.job_version[best] && table.id[row] < table.id[best]))
      best = row;
  }
  const CompiledJob* out = nullptr;
  deployment = {};
  if (best != kNoRow) {
    out = version_row(table.job_version[best]);
    deployment = table.id[best];
  } else {
    out = version_row(missing.min_job_version);
    if (out && !out->spec->update->empty()) out = nullptr;
  }
  if (!out || out->version < missing.min_job_version || !out->spec->group(group)) return nullptr;
  return out;
}

NodeRow GenericScheduler::preferred_node(const Missing& missing) const {  // R-SCHED-74 to 76
  if (missing.previous == kNoRow) return kNoRow;
  const tables::AllocRow row = allocs_.rows()[missing.previous];
  const tables::VersionRow version = given_.state->allocs.job[row];
  if (version == kNoRow) return kNoRow;
  const model::Job& theirs = *given_.state->jobs.versions[version]->spec;
  if (theirs.node_pool != job_->spec->node_pool || theirs.datacenters != job_->spec->datacenters) return kNoRow;
  const std::uint32_t position = group_position(*job_, given_.result->groups[missing.group].name);
  if (position == kNoRow) return kNoRow;
  const auto& disk = job_->groups[position].spec->ephemeral_disk;
  if (!disk || !(disk->sticky || disk->migrate)) return kNoRow;
  const NodeRow node = given_.state->allocs.node[row];
  return node != kNoRow && given_.state->nodes.exists(node) && given_.state->nodes.ready(node) ? node : kNoRow;
}

std::optional<Selected> GenericScheduler::select(std::uint32_t group, SelectOptions& options, NodeRow preferred,
                                                 bool may_evict) {
  const auto once = [&] {
    if (preferred != kNoRow) {  // R-SCHED-77, 78
      auto selected = stack_.select_one(preferred, group, options);
      stack_.rewind();
      if (selected || !stack_.error().empty()) return selected;
    }
    return stack_.select(group, options);
  };
  options.then_evict = may_evict;
  auto selected = once();
  if (selected || !may_evict || failed_to_process()) return selected;
  const base::StageScope preempting(base::Stage::preempt);  // R-SCHED-97: its metrics replace those of the first pass
  options.evict = true, options.then_evict = false;
  return once();
}

/// Adds the selected node to the plan, with the metrics of the Select.
PlannedAlloc& GenericScheduler::add_alloc(Selected& selected, std::uint32_t group, std::uint32_t name_index) {
  stack_.preempt(selected);
  PlannedAlloc& alloc = given_.result->plan.allocs.emplace_back();
  alloc.id = given_.ids->next();
  alloc.node = selected.node;
  alloc.group = group;
  alloc.name_index = name_index;
  alloc.score = selected.score;
  alloc.held = selected.held;
  alloc.shape = std::move(selected.shape);
  stack_.take_metrics(alloc.metrics);
  return alloc;
}

/// Version and deployment of the placement; `downgraded` is also true for the current version (R-SCHED-87).
GenericScheduler::Placing GenericScheduler::placing_of(const Missing& missing) {
  Placing out{job_, placing_deployment_, false};
  if (!missing.downgrade) return out;
  base::Uuid deployment;
  if (const CompiledJob* older = older_version(missing, deployment)) {
    out = {older, static_cast<std::uint16_t>(given_.result->plan.deployment_ids.size()), true};
    given_.result->plan.deployment_ids.push_back(deployment);
    if (quirks().downgrade_leaks_deployment) placing_deployment_ = out.deployment;  // R-SCHED-72: also of later ones
  }
  return out;
}

/// Options that come from the replaced allocation: its name, if volumes depend on it, and the nodes where it failed
/// (R-SCHED-79).
void GenericScheduler::heed_previous(std::uint32_t previous, const CompiledGroup& group, SelectOptions& options) {
  const reconcile::AllocFacts& facts = allocs_.facts()[previous];
  const tables::AllocRow row = allocs_.rows()[previous];
  if (group.has_host_volumes || group.has_csi_volumes) {
    name_ = facts.alloc->name;
    options.name = name_;
  }
  penalty_nodes_.clear();
  const NodeRow node = given_.state->allocs.node[row];
  if (facts.client == model::ClientStatus::failed && node != kNoRow) penalty_nodes_.push_back(node);
  // Allocations stored in columns only were never rescheduled.
  if (given_.state->allocs.cold[row] && facts.alloc->reschedule_tracker && facts.alloc->reschedule_tracker->events)
    for (const model::RescheduleEvent& event : *facts.alloc->reschedule_tracker->events)
      if (const NodeRow before = find_node(*given_.state, event.prev_node_id); before != kNoRow)
        penalty_nodes_.push_back(before);
  options.penalty_nodes = penalty_nodes_;
}

void GenericScheduler::add_placed(const Missing& missing, const Placing& placing, std::uint32_t group,
                                  Selected& selected) {
  PlanRows& plan = given_.result->plan;
  PlannedAlloc& alloc = add_alloc(selected, group, missing.name_index);
  alloc.job = placing.downgraded ? version_of(*placing.version) : kNoRow;
  alloc.deployment = placing.deployment;
  alloc.canary = missing.canary && !given_.result->deployment_id.is_nil();  // R-SCHED-86
  if (missing.previous != kNoRow) {
    alloc.previous = allocs_.rows()[missing.previous];
    alloc.keeps_name = true;
  }
  auto& names = reconciled_.groups[missing.group].names;
  if (names && names->is_duplicate(missing.name_index)) {  // R-SCHED-83
    alloc.name_index = names->next(1).front();
    alloc.keeps_name = false;
    names->unset(missing.name_index, quirks());
  }
  if (missing.reschedule) {  // R-SCHED-88 to 94; such a placement has a previous allocation (R-RECON-39)
    alloc.tracker = static_cast<std::uint32_t>(plan.trackers.size());
    plan.trackers.push_back(model::replacement_tracker(*allocs_.facts()[missing.previous].alloc, given_.eval->now_ns));
    note_replaced(missing.previous);
  }
  if (scratch_.options.remote_tasks && missing.previous != kNoRow) take_over_tasks(missing, alloc);
  stack_.placed(alloc);
}

/// Makes one placement (R-SCHED-62). On false, `given_.result` holds an error.
bool GenericScheduler::place(const Missing& missing) {
  GroupResult& group = given_.result->groups[missing.group];
  if (scratch_.passes_over(group.name)) return true;
  if (job_->gang && !group.failed && given_.result->any_failed()) return true;
  const Placing placing = placing_of(missing);
  const std::uint32_t position = group_position(*placing.version, group.name);
  const CompiledGroup& compiled = placing.version->groups[position];
  if (group.failed) {  // R-SCHED-63
    group.coalesce(compiled.spec);
    if (!quirks().coalesced_failure_unmarked && missing.reschedule) mark_not_placed(missing.previous);
    return true;
  }
  const model::Job &theirs = *placing.version->spec, &ours = *job_->spec;
  const bool reload = placing.downgraded &&
                      (theirs.node_pool != ours.node_pool || !same_datacenters(theirs.datacenters, ours.datacenters));
  if (placing.downgraded && !use_version(*placing.version, reload, 1)) return false;

  SelectOptions options;
  options.name_index = missing.name_index;
  if (missing.previous != kNoRow) heed_previous(missing.previous, compiled, options);
  const NodeRow preferred = preferred_node(missing);
  if (missing.destructive) stop(missing.previous, Description::updating);

  auto selected = select(position, options, preferred, preempts(*job_));
  if (failed_to_process()) return false;
  SelectMetrics metrics;
  if (selected)
    add_placed(missing, placing, position, *selected);
  else
    stack_.take_metrics(metrics);
  if (placing.downgraded && !use_version(*job_, reload, 1)) return false;
  if (!selected) {  // R-SCHED-66
    group.fail(metrics, compiled.spec);
    if (missing.destructive) stack_.pop_stop(allocs_.rows()[missing.previous]);
    if (missing.reschedule) mark_not_placed(missing.previous);
  }
  return true;
}

/// The row of a version of the job.
tables::VersionRow GenericScheduler::version_of(const CompiledJob& job) const {
  const tables::JobTable& jobs = given_.state->jobs;
  tables::VersionRow row = jobs.newest[job.key];
  while (row != kNoRow && jobs.versions[row].get() != &job) row = jobs.older[row];
  return row;
}

/// Keeps the handles of remote tasks that continue while their allocation moves (R-SEED-14 to 16).
void GenericScheduler::take_over_tasks(const Missing& missing, PlannedAlloc& alloc) {
  const reconcile::AllocFacts& facts = allocs_.facts()[missing.previous];
  if (facts.client_terminal() || !(missing.lost || facts.wants(reconcile::AllocFacts::kMigrate))) return;
  PlanRows& plan = given_.result->plan;
  alloc.task_states = static_cast<std::uint32_t>(plan.task_states.size());
  auto& out = plan.task_states.emplace_back();
  for (const auto& [task, state] : facts.alloc->task_states) {
    if (!state || state->task_handle.is_null() || !alloc.held->resources->tasks.contains(task)) continue;
    model::TaskState& fresh = out[task].emplace();
    fresh.state = "pending";
    fresh.task_handle = state->task_handle;
  }
}

/// Turns the plan's entry of a replaced allocation into a copy with an updated reschedule tracker (R-SCHED-94).
void GenericScheduler::note_replaced(std::uint32_t position) {
  PlanRows& plan = given_.result->plan;
  const tables::AllocRow row = allocs_.rows()[position];
  for (plan::PlannedStop& stop : plan.stops)
    if (stop.alloc == row && !stop.evict && !stop.dropped) {
      stop.replaced = true;
      stop.keeps_description = scratch_.options.keep_stop_description || !quirks().reschedule_loses_description;
      return;
    }
  if (plan::PlannedUpdate* update = stack_.update_of(row)) update->note = plan::PlannedUpdate::Note::ok;
}

void GenericScheduler::mark_not_placed(std::uint32_t position) {  // R-SCHED-96
  PlanRows& plan = given_.result->plan;
  const tables::AllocRow row = allocs_.rows()[position];
  stack_.pop_stop(row);
  if (plan::PlannedUpdate* update = stack_.update_of(row)) {
    update->note = plan::PlannedUpdate::Note::no_placement;
    return;
  }
  plan::PlannedUpdate& update = plan.updates.emplace_back();
  update.alloc = row;
  update.kind = plan::PlannedUpdate::Kind::not_placed;
  update.note = plan::PlannedUpdate::Note::no_placement;
  stack_.updated(static_cast<std::uint32_t>(plan.updates.size() - 1));
}

}  // namespace berth::sched
