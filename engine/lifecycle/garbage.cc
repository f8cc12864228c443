#include "lifecycle/garbage.h"

#include <algorithm>
#include <span>

#include "base/later.h"
#include "base/text.h"
#include "fsm/volume_users.h"
#include "lifecycle/alloc_facts.h"
#include "model/job.h"
#include "model/predicates.h"

namespace berth::lifecycle {

using tables::AllocRow;
using tables::DeploymentRow;
using tables::JobKeyRow;
using tables::kNoRow;
using tables::StoredEvalRow;

namespace {

constexpr std::int64_t kForceAgeNs = 1'000'000;  // R-CTRL-1405

/// True if the allocation can be removed (R-CTRL-1409). `job` null: the job no longer exists.
bool is_collectable(const tables::Snapshot& state, AllocRow row, const model::Job* job, std::int64_t cutoff,
                    std::int64_t now) {
  const tables::AllocTable& allocs = state.allocs;
  if (!allocs.terminal(row) || allocs.stamp[row].modify_time > cutoff || allocs.client[row] == tables::Client::running)
    return false;
  if (!job || job->stop || job->status == "dead") return true;
  if (allocs.desired[row] == tables::Desired::stop) return true;
  if (allocs.client[row] != tables::Client::failed) return true;
  const model::TaskGroup* group = job->group(group_name(state, row));
  if (!group || !group->reschedule_policy || !group->reschedule_policy->enabled()) return true;
  const model::Allocation* object = allocs.cold[row].get();
  if (object ? !object->next_allocation.empty() : allocs.relations[row].next != kNoRow) return true;
  if (group->reschedule_policy->unlimited) return false;
  const auto* tracker = object && object->reschedule_tracker ? &*object->reschedule_tracker : nullptr;
  if (!tracker || !tracker->events || tracker->events->empty()) return false;
  return now - tracker->events->back().reschedule_time > group->reschedule_policy->interval;
}

}  // namespace

struct GarbageCollector::Garbage {
  std::vector<AllocRow> allocs;
  std::vector<StoredEvalRow> evals;
};

namespace {

/// Decides which allocations of an evaluation a run removes (R-CTRL-1407, 1408).
struct Judge {
  const tables::Snapshot& state;
  const tables::History& history;
  std::int64_t cutoff, now;
  bool with_job;  ///< the job is removed as well, if all of them are

  [[nodiscard]] bool goes(AllocRow alloc, const model::Job* job) const {
    const bool present_stay = history.evals[state.allocs.stamp[alloc].eval].batch && job &&
                              !(job->status == "dead" && (job->stop || with_job));
    if (!present_stay) return is_collectable(state, alloc, job, cutoff, now);
    return state.allocs.terminal(alloc) && state.allocs.create_index[alloc] < job->job_modify_index &&
           state.allocs.stamp[alloc].modify_time < cutoff;
  }
  /// True if the evaluation is removed; appends its removable allocations. `stays` is one that is not removable. If all
  /// have to be removed (with_job), the first such one ends the search.
  [[nodiscard]] bool goes(StoredEvalRow row, const model::Job* job, std::vector<AllocRow>& allocs,
                          AllocRow& stays) const {
    const tables::History::Eval& eval = history.evals[row];
    stays = kNoRow;
    if (eval.open || eval.modify_time > cutoff) return false;
    if (eval.ended_allocs == 0) {
      stays = eval.alloc_head;
      return stays == kNoRow;
    }
    for (AllocRow alloc = eval.alloc_head; alloc != kNoRow; alloc = history.allocs[alloc].next_of_eval) {
      if (goes(alloc, job))
        allocs.push_back(alloc);
      else
        stays = alloc;
      if (with_job && stays != kNoRow) return false;
    }
    return stays == kNoRow;
  }
};

}  // namespace

// ---------------------------------------------------------------- runs

void GarbageCollector::become_leader(std::int64_t now) {
  if (config_.interval_ns <= 0) return;
  for (std::uint32_t kind = 0; kind < kGcKinds; ++kind) timers_.set(kind, now + config_.interval_ns);
}

void GarbageCollector::advance(std::int64_t now, Outbox& out) {
  while (const auto kind = timers_.take_due(now)) {
    run(static_cast<GcKind>(*kind), now, out);
    timers_.set(*kind, now + config_.interval_ns);
  }
}

void GarbageCollector::run(GcKind kind, std::int64_t now, Outbox& out) {
  const GcThresholds* of_kind[] = {&config_.evals, &config_.jobs, &config_.nodes, &config_.deployments};
  run(kind, *of_kind[static_cast<std::size_t>(kind)], now, out);
}

void GarbageCollector::run(GcKind kind, const GcThresholds& thresholds, std::int64_t now, Outbox& out) {
  switch (kind) {
    case GcKind::evals:
      return collect_evals(thresholds, now, out);
    case GcKind::jobs:
      return collect_jobs(thresholds, now, out);
    case GcKind::nodes:
      return collect_nodes(thresholds, now, out);
    case GcKind::deployments:
      return collect_deployments(thresholds, now, out);
  }
}

void GarbageCollector::force(std::int64_t now, Outbox& out) {
  for (const GcKind kind : {GcKind::jobs, GcKind::evals, GcKind::deployments, GcKind::nodes})
    run(kind, {kForceAgeNs, kForceAgeNs}, now, out);
}

void GarbageCollector::reap(Garbage& garbage, std::int64_t now, Outbox& out) {  // R-CTRL-1413
  fsm::EvalDeleteEntry entry;
  const auto write = [&] {
    if (entry.allocs.empty() && entry.evals.empty()) return;
    out.write(log_, now, "eval_delete", entry);
    entry = {};
  };
  const auto full = [&] { return entry.allocs.size() + entry.evals.size() >= config_.ids_per_entry_max; };
  for (const AllocRow row : garbage.allocs) {
    entry.allocs.push_back(row);
    if (full()) write();
  }
  for (const StoredEvalRow row : garbage.evals) {
    entry.evals.push_back(row);
    if (full()) write();
  }
  write();
}

void GarbageCollector::collect_evals(const GcThresholds& thresholds, std::int64_t now, Outbox& out) {
  const tables::Snapshot& state = log_.store().current();
  const tables::History& history = *log_.store().history();
  const std::int64_t cutoff = now - thresholds.age_ns, batch = now - thresholds.batch_eval_age_ns;
  Garbage garbage;
  AllocRow stays = kNoRow;
  for (StoredEvalRow row = 0; row < history.evals.size(); ++row) {
    const tables::History::Eval& eval = history.evals[row];
    const std::int64_t oldest = eval.batch ? batch : cutoff;
    if (eval.open || eval.modify_time > oldest || (eval.ended_allocs == 0 && eval.alloc_head != kNoRow)) continue;
    if (!state.evals.exists(row)) continue;
    const model::Job* job = log_.record(state.evals.job_key[row])->current.get();
    const Judge judge{state, history, oldest, now, false};
    if (judge.goes(row, job, garbage.allocs, stays)) garbage.evals.push_back(row);
  }
  reap(garbage, now, out);
}

void GarbageCollector::collect_jobs(const GcThresholds& thresholds, std::int64_t now, Outbox& out) {
  const tables::Snapshot& state = log_.store().current();
  const tables::History& history = *log_.store().history();
  const std::int64_t cutoff = now - thresholds.age_ns;
  Garbage garbage;
  std::vector<std::pair<std::string, std::string>> jobs;
  const std::span<const std::int64_t> submitted = log_.collectable_jobs();
  const Judge judge{state, history, cutoff, now, true};
  keeps_job_.resize(submitted.size(), kNoRow);
  for (JobKeyRow key = 0; key < submitted.size(); ++key) {
    if (submitted[key] > cutoff) continue;
    const fsm::JobRecord& record = *log_.record(key);
    const model::Job& job = *record.current;
    const auto tagged = [](const auto& version) { return !version->version_tag.is_null(); };
    if (std::any_of(record.versions.begin(), record.versions.end(), tagged)) continue;
    // Most jobs stay because of the same allocation as at the last run: one that ended later than the rest.
    AllocRow& stays = keeps_job_[key];
    const auto is_of_job = [&](AllocRow row) {
      const StoredEvalRow eval = state.allocs.exists(row) ? state.allocs.stamp[row].eval : StoredEvalRow(kNoRow);
      return eval != kNoRow && state.evals.job_key[eval] == key;
    };
    if (stays != kNoRow && is_of_job(stays) && !judge.goes(stays, &job)) continue;
    const std::size_t allocs = garbage.allocs.size(), evals = garbage.evals.size();
    bool all = true;
    for (const StoredEvalRow row : log_.evals_of(key)) {
      if (!(all = judge.goes(row, &job, garbage.allocs, stays))) break;
      garbage.evals.push_back(row);
    }
    if (all)
      jobs.emplace_back(job.namespace_, job.id);
    else
      garbage.allocs.resize(allocs), garbage.evals.resize(evals);
  }
  reap(garbage, now, out);
  std::sort(jobs.begin(), jobs.end());
  for (std::size_t begin = 0; begin < jobs.size(); begin += config_.jobs_per_entry_max) {
    const std::size_t end = std::min(jobs.size(), begin + config_.jobs_per_entry_max);
    const fsm::JobBatchDeregisterEntry entry{
        {jobs.begin() + static_cast<std::ptrdiff_t>(begin), jobs.begin() + static_cast<std::ptrdiff_t>(end)}};
    out.write(log_, now, "job_deregister_batch", entry);
  }
}

void GarbageCollector::collect_nodes(const GcThresholds& thresholds, std::int64_t now, Outbox& out) {
  const tables::Snapshot& state = log_.store().current();
  const std::int64_t cutoff = now - thresholds.age_ns;
  std::vector<std::string> nodes;
  for (const tables::NodeRow row : *state.nodes.fixed->by_id) {
    if (state.nodes.status(row) != tables::NodeStatus::down) continue;
    if (base::instant_ns(log_.status_updated_at(row)) > cutoff) continue;
    bool idle = true;
    for_each_on_node(state, row, [&](AllocRow alloc) { idle = idle && state.allocs.terminal(alloc); });
    if (idle && fsm::node_volume_in_use(state, row).empty()) nodes.push_back(base::to_text(state.nodes.id(row)));
  }
  for (std::size_t begin = 0; begin < nodes.size(); begin += config_.ids_per_entry_max) {
    const std::size_t end = std::min(nodes.size(), begin + config_.ids_per_entry_max);
    out.add(now, nodes_.deregister({nodes.begin() + static_cast<std::ptrdiff_t>(begin),
                                    nodes.begin() + static_cast<std::ptrdiff_t>(end)},
                                   now));
  }
}

void GarbageCollector::collect_deployments(const GcThresholds& thresholds, std::int64_t now, Outbox& out) {
  const tables::Snapshot& state = log_.store().current();
  const tables::History& history = *log_.store().history();
  const std::int64_t cutoff = now - thresholds.age_ns;
  std::vector<std::string> ids;
  for (DeploymentRow row = 0; row < state.deployments.size(); ++row) {
    const auto& deployment = state.deployments.object[row];
    if (!deployment || state.deployments.active[row] || deployment->modify_time > cutoff) continue;
    bool used = false;  // R-CTRL-1412
    const JobKeyRow key = state.deployments.job_key[row];
    if (history.deployment_refs[row] != 0 && history.jobs[key].live_allocs != 0)
      for (AllocRow alloc = state.jobs.keys[key].alloc_head; alloc != kNoRow && !used;
           alloc = state.allocs.next_of_job[alloc])
        used = !state.allocs.terminal(alloc) && history.allocs[alloc].deployment == row;
    if (!used) ids.push_back(deployment->id);
  }
  for (std::size_t begin = 0; begin < ids.size(); begin += config_.ids_per_entry_max) {
    const std::size_t end = std::min(ids.size(), begin + config_.ids_per_entry_max);
    const fsm::DeploymentDeleteEntry entry{
        {ids.begin() + static_cast<std::ptrdiff_t>(begin), ids.begin() + static_cast<std::ptrdiff_t>(end)}};
    out.write(log_, now, "deployment_delete", entry);
  }
}

}  // namespace berth::lifecycle
