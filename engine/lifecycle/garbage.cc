#include "lifecycle/garbage.h"

#include <algorithm>

#include "base/text.h"
#include "lifecycle/alloc_facts.h"
#include "model/predicates.h"

namespace berth::lifecycle {

using tables::AllocRow;
using tables::JobKeyRow;
using tables::kNoRow;

namespace {

constexpr std::int64_t kForceAgeNs = 1'000'000;  // R-CTRL-1405

/// An allocation with the evaluation that placed it.
struct AllocOfEval {
  base::Uuid eval;
  AllocRow row;
};

/// The job's allocations, sorted by evaluation and by ID within one.
std::vector<AllocOfEval> allocs_by_eval(const tables::Snapshot& state, JobKeyRow key) {
  std::vector<AllocOfEval> out;
  for (const AllocRow row : allocs_by_id(state, key))
    if (const auto& object = state.allocs.cold[row])
      out.push_back({base::parse_uuid(object->eval_id).value_or(base::Uuid{}), row});
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.eval < b.eval; });
  return out;
}

/// Whether the allocation can go (R-CTRL-1409). `job` null: there is no such job any more.
bool is_collectable(const tables::Snapshot& state, AllocRow row, const model::Job* job, std::int64_t cutoff,
                    std::int64_t now) {
  const tables::AllocTable& allocs = state.allocs;
  const model::Allocation& alloc = *allocs.cold[row];
  if (!allocs.terminal(row) || alloc.modify_time > cutoff || allocs.client[row] == tables::Client::running)
    return false;
  if (!job || job->stop || job->status == "dead") return true;
  if (allocs.desired[row] == tables::Desired::stop) return true;
  if (allocs.client[row] != tables::Client::failed) return true;
  const model::TaskGroup* group = job->group(group_name(state, row));
  if (!group || !group->reschedule_policy || !group->reschedule_policy->enabled()) return true;
  if (!alloc.next_allocation.empty()) return true;
  if (group->reschedule_policy->unlimited) return false;
  if (!alloc.reschedule_tracker || !alloc.reschedule_tracker->events || alloc.reschedule_tracker->events->empty())
    return false;
  return now - alloc.reschedule_tracker->events->back().reschedule_time > group->reschedule_policy->interval;
}

}  // namespace

struct GarbageCollector::Garbage {
  std::vector<std::string> allocs, evals;
};

namespace {

struct EvalVerdict {
  bool collect = false;
  std::vector<AllocRow> allocs;  ///< that go, whether or not the evaluation does
};

/// R-CTRL-1407, 1408. `allocs`: those of the evaluation.
EvalVerdict judge_eval(const tables::Snapshot& state, const model::Evaluation& eval, const model::Job* job,
                       std::span<const AllocOfEval> allocs, std::int64_t cutoff, std::int64_t now, bool with_job) {
  EvalVerdict out;
  if (!model::is_terminal_evaluation(eval.status) || eval.modify_time > cutoff) return out;
  if (eval.type == "batch" && job && !(job->status == "dead" && (job->stop || with_job))) {
    for (const AllocOfEval& alloc : allocs)
      if (state.allocs.terminal(alloc.row) && state.allocs.create_index[alloc.row] < job->job_modify_index &&
          state.allocs.cold[alloc.row]->modify_time < cutoff)
        out.allocs.push_back(alloc.row);
    out.collect = out.allocs.size() == allocs.size();
    return out;
  }
  out.collect = true;
  for (const AllocOfEval& alloc : allocs)
    if (is_collectable(state, alloc.row, job, cutoff, now))
      out.allocs.push_back(alloc.row);
    else
      out.collect = false;
  return out;
}

std::span<const AllocOfEval> of_eval(const std::vector<AllocOfEval>& allocs, base::Uuid eval) {
  const auto begin = std::lower_bound(allocs.begin(), allocs.end(), eval,
                                      [](const AllocOfEval& alloc, base::Uuid id) { return alloc.eval < id; });
  auto end = begin;
  while (end != allocs.end() && end->eval == eval) ++end;
  return {begin, end};
}

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
  for (std::string& id : garbage.allocs) {
    entry.allocs.push_back(std::move(id));
    if (full()) write();
  }
  for (std::string& id : garbage.evals) {
    entry.evals.push_back(std::move(id));
    if (full()) write();
  }
  write();
}

void GarbageCollector::collect_evals(const GcThresholds& thresholds, std::int64_t now, Outbox& out) {
  const tables::Snapshot& state = log_.store().current();
  const std::int64_t cutoff = now - thresholds.age_ns, batch = now - thresholds.batch_eval_age_ns;
  // Old terminal evaluations, by job: so that a job's allocations are looked at once.
  std::vector<std::pair<JobKeyRow, std::uint32_t>> old;
  for (std::uint32_t row = 0; row < state.evals.size(); ++row) {
    const auto& eval = state.evals.object[row];
    if (!eval || eval->modify_time > (eval->type == "batch" ? batch : cutoff)) continue;
    if (model::is_terminal_evaluation(eval->status)) old.emplace_back(state.evals.job_key[row], row);
  }
  std::sort(old.begin(), old.end());
  Garbage garbage;
  std::vector<AllocOfEval> allocs;
  JobKeyRow key = kNoRow;
  std::shared_ptr<const model::Job> job;
  for (const auto& [of_job, row] : old) {
    const model::Evaluation& eval = *state.evals.object[row];
    if (of_job != key) {
      key = of_job;
      allocs = allocs_by_eval(state, key);
      job = log_.job(eval.namespace_, eval.job_id);
    }
    const EvalVerdict verdict = judge_eval(state, eval, job.get(), of_eval(allocs, state.evals.id[row]),
                                           eval.type == "batch" ? batch : cutoff, now, false);
    for (const AllocRow alloc : verdict.allocs) garbage.allocs.push_back(base::to_text(state.allocs.id[alloc]));
    if (verdict.collect) garbage.evals.push_back(eval.id);
  }
  reap(garbage, now, out);
}

void GarbageCollector::collect_jobs(const GcThresholds& thresholds, std::int64_t now, Outbox& out) {
  const tables::Snapshot& state = log_.store().current();
  const std::int64_t cutoff = now - thresholds.age_ns;
  Garbage garbage;
  std::vector<std::pair<std::string, std::string>> jobs;
  for (JobKeyRow key = 0; key < state.jobs.keys.size(); ++key) {
    const tables::JobKey& names = state.jobs.keys[key];
    if (names.current == kNoRow) continue;
    const fsm::JobRecord* record = log_.record(state.text(names.job_namespace), state.text(names.job_id));
    if (!record || !record->current) continue;
    const model::Job& job = *record->current;
    const bool launches = (job.periodic && job.periodic->enabled) || model::is_parameterized(job);  // R-CTRL-1410
    const bool short_lived = job.type == "batch" || job.type == "sysbatch";
    if (!(launches ? job.stop : job.status == "dead" && (job.stop || short_lived)) || job.submit_time > cutoff)
      continue;
    const auto tagged = [](const auto& version) { return !version->version_tag.is_null(); };
    if (std::any_of(record->versions.begin(), record->versions.end(), tagged)) continue;
    const std::vector<AllocOfEval> allocs = allocs_by_eval(state, key);
    Garbage of_job;
    bool all = true;
    for (const std::uint32_t row : record->evals) {
      const auto& eval = state.evals.object[row];
      if (!eval) continue;
      const EvalVerdict verdict =
          judge_eval(state, *eval, &job, of_eval(allocs, state.evals.id[row]), cutoff, now, true);
      if (!(all = verdict.collect)) break;
      for (const AllocRow alloc : verdict.allocs) of_job.allocs.push_back(base::to_text(state.allocs.id[alloc]));
      of_job.evals.push_back(eval->id);
    }
    if (!all) continue;
    jobs.emplace_back(job.namespace_, job.id);
    garbage.allocs.insert(garbage.allocs.end(), of_job.allocs.begin(), of_job.allocs.end());
    garbage.evals.insert(garbage.evals.end(), of_job.evals.begin(), of_job.evals.end());
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
    const std::string id = base::to_text(state.nodes.id(row));
    if (log_.node(id)->status_updated_at * base::kSecond > cutoff) continue;
    bool idle = true;
    for_each_on_node(state, row, [&](AllocRow alloc) { idle = idle && state.allocs.terminal(alloc); });
    if (idle) nodes.push_back(id);
  }
  for (std::size_t begin = 0; begin < nodes.size(); begin += config_.ids_per_entry_max) {
    const std::size_t end = std::min(nodes.size(), begin + config_.ids_per_entry_max);
    out.add(now, nodes_.deregister({nodes.begin() + static_cast<std::ptrdiff_t>(begin),
                                    nodes.begin() + static_cast<std::ptrdiff_t>(end)},
                                   now));
  }
}

void GarbageCollector::collect_deployments(const GcThresholds& thresholds, std::int64_t now, Outbox& out) {
  tables::StateStore& store = log_.store();
  const tables::Snapshot& state = store.current();
  const std::int64_t cutoff = now - thresholds.age_ns;
  std::vector<std::string> ids;
  for (tables::DeploymentRow row = 0; row < state.deployments.size(); ++row) {
    const auto& deployment = state.deployments.object[row];
    if (!deployment || state.deployments.active[row] || deployment->modify_time > cutoff) continue;
    bool used = false;  // R-CTRL-1412
    for (AllocRow alloc = state.jobs.keys[state.deployments.job_key[row]].alloc_head; alloc != kNoRow && !used;
         alloc = state.allocs.next_of_job[alloc])
      used = !state.allocs.terminal(alloc) && deployment_of(store, alloc) == row;
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
