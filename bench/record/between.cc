#include "record/between.h"

#include <algorithm>

#include "model/job.h"
#include "model/predicates.h"

namespace berth::record {
namespace {

/// Bounds the search for the evaluation of a plan among those of a job, from the newest on: one ends after another.
constexpr int kEvalsTried = 64;

/// From the end of a task to the client's report of it: clients report five times a second.
constexpr std::int64_t kReportDelay = base::kSecond / 10;

/// The evaluation when it was created.
model::Evaluation created(const model::Evaluation& eval) {
  if (eval.modify_index == eval.create_index) return eval;
  model::Evaluation out = eval;
  const bool blocked = eval.triggered_by == "queued-allocs" || eval.triggered_by == "max-plan-attempts";
  out.status = blocked ? "blocked" : "pending";
  out.status_description.clear();
  out.failed_tg_allocs.clear(), out.queued_allocations.reset(), out.plan_annotations.reset();
  out.next_eval.clear(), out.blocked_eval.clear();
  out.snapshot_index = 0;
  out.modify_index = eval.create_index, out.modify_time = eval.create_time;
  return out;
}

/// The deployment before its end.
model::Deployment unfinished(const model::Deployment& deployment, bool promoted, std::uint64_t index) {
  model::Deployment out = deployment;
  out.status = "running", out.status_description.clear();
  for (auto& [name, group] : out.task_groups) {
    if (!group) continue;
    group->promoted = group->promoted && promoted;
    group->healthy_allocs = group->unhealthy_allocs = 0;
  }
  out.modify_index = index, out.modify_time = deployment.create_time;
  return out;
}

model::Node joined(const model::Node& node) {
  model::Node out = node;
  out.status = "ready", out.scheduling_eligibility = "eligible";
  out.drain_strategy.reset(), out.last_drain = nullptr;
  out.modify_index = node.create_index;
  return out;
}

/// The time at which its last task ended; 0: unknown.
std::int64_t end_time(const model::Allocation& alloc) {
  std::int64_t out = 0;
  for (const auto& [name, task] : alloc.task_states)
    if (task) out = std::max(out, task->finished_at.ns);
  return out;
}

bool is_transition(const model::DesiredTransition& one) {
  return model::is_set(one.migrate) || model::is_set(one.reschedule) || model::is_set(one.force_reschedule);
}

}  // namespace

Between::Between(const model::ClusterState& before, const model::ClusterState& after) : before_(before), after_(after) {
  for (const model::Allocation& alloc : after.allocs) allocs_by_id_.emplace(alloc.id, &alloc);
  take_times();
  take_jobs_and_evals();
  take_purged_jobs();
  take_nodes();
  take_deployments();
  take_volumes();
  take_allocs();
  find_hidden_updates();
  find_hidden_delays();
}

void Between::take_times() {
  for (const model::Evaluation& eval : after_.evals) {
    times_.emplace_back(eval.create_time, eval.create_index);
    times_.emplace_back(eval.modify_time, eval.modify_index);
  }
  for (const model::Allocation& alloc : after_.allocs) {
    times_.emplace_back(alloc.create_time, alloc.create_index);
    times_.emplace_back(alloc.modify_time, alloc.modify_index);
  }
  std::sort(times_.begin(), times_.end());
  std::uint64_t last = 0;
  for (auto& [ns, index] : times_) index = last = std::max(last, index);
}

/// Index of the first known change at this time or later.
std::uint64_t Between::index_at(std::int64_t ns) const {
  const auto at = std::lower_bound(times_.begin(), times_.end(), std::pair(ns, std::uint64_t{0}));
  return at == times_.end() ? after_.index : at->second;
}

void Between::take_jobs_and_evals() {
  std::set<const model::Job*> seen;
  for (const auto* list : {&after_.job_versions, &after_.jobs})
    for (const auto& job : *list) {
      if (!seen.insert(job.get()).second) continue;
      jobs_[{job->namespace_, job->id}].versions.push_back(job->job_modify_index);
      if (is_later(job->job_modify_index)) changes_[job->job_modify_index].jobs.push_back(job);
    }
  for (const model::Evaluation& eval : after_.evals) {
    evals_.emplace(eval.id, &eval);
    jobs_[{eval.namespace_, eval.job_id}].evals.push_back(&eval);
    if (is_later(eval.create_index)) changes_[eval.create_index].created.push_back(&eval);
    if (is_later(eval.modify_index) && eval.modify_index > eval.create_index)
      changes_[eval.modify_index].finished.push_back(&eval);
  }
  for (auto& [name, job] : jobs_) {
    std::sort(job.versions.begin(), job.versions.end());
    std::sort(job.evals.begin(), job.evals.end(),
              [](const auto* a, const auto* b) { return a->create_index < b->create_index; });
    for (const model::Evaluation* eval : job.evals) job.by_trigger[eval->triggered_by].push_back(eval);
  }
}

/// Jobs that only the first state has. A purge creates an evaluation in its entry.
void Between::take_purged_jobs() {
  std::set<JobName> left;
  for (const auto& job : after_.jobs) left.emplace(job->namespace_, job->id);
  for (const auto& job : before_.jobs) {
    const JobName name(job->namespace_, job->id);
    const auto history = jobs_.find(name);
    if (left.count(name) != 0 || history == jobs_.end()) continue;
    const auto evals = history->second.by_trigger.find("job-deregister");
    if (evals != history->second.by_trigger.end() && is_later(evals->second.back()->create_index))
      changes_[evals->second.back()->create_index].purged.push_back(name);
  }
}

void Between::take_nodes() {
  std::unordered_map<std::string_view, std::uint64_t> last;  // changes that the states show
  std::set<std::string_view> known;
  for (const model::Node& node : before_.nodes) known.insert(node.id);
  for (const model::Node& node : after_.nodes) {
    last.emplace(node.id, node.modify_index);
    if (is_later(node.create_index) && known.count(node.id) == 0) changes_[node.create_index].joined.push_back(&node);
    if (is_later(node.modify_index)) changes_[node.modify_index].nodes.push_back(&node);
  }
  for (const model::NodePool& pool : after_.node_pools)
    if (is_later(pool.modify_index)) changes_[pool.modify_index].pools.push_back(&pool);
  for (const model::Evaluation& eval : after_.evals) {
    const auto node = last.find(eval.node_id);
    if (eval.node_id.empty() || !is_later(eval.node_modify_index)) continue;
    const std::uint64_t end = node == last.end() ? after_.index + 1 : node->second;
    std::uint64_t& known_end = unknown_nodes_[eval.node_modify_index];
    known_end = std::max(known_end, end);
  }
  std::uint64_t end = 0;
  for (auto& [first, until] : unknown_nodes_) until = end = std::max(end, until);
}

void Between::take_deployments() {
  for (const model::Deployment& one : after_.deployments) {
    if (is_later(one.create_index)) changes_[one.create_index].begun.push_back(&one);
    if (is_later(one.modify_index) && one.modify_index > one.create_index)
      changes_[one.modify_index].deployments.push_back(&one);
    for (const auto& [name, group] : one.task_groups)
      if (group) canaries_.insert(group->placed_canaries.begin(), group->placed_canaries.end());
    const auto job = jobs_.find({one.namespace_, one.job_id});
    if (job == jobs_.end()) continue;
    // A promotion writes the canaries and creates an evaluation in one entry.
    std::set<std::uint64_t> written;
    for (const auto& [name, group] : one.task_groups)
      if (group && group->promoted)
        for (const std::string& canary : group->placed_canaries)
          if (const auto alloc = allocs_by_id_.find(canary); alloc != allocs_by_id_.end())
            if (alloc->second->deployment_status) written.insert(alloc->second->deployment_status->modify_index);
    const auto evals = job->second.by_trigger.find("deployment-watcher");
    if (written.empty() || evals == job->second.by_trigger.end()) continue;
    for (const model::Evaluation* eval : evals->second)
      if (eval->deployment_id == one.id && written.count(eval->create_index) != 0 && is_later(eval->create_index) &&
          eval->create_index < one.modify_index)
        changes_[eval->create_index].promoted.push_back(&one);
  }
}

void Between::take_volumes() {
  for (const model::HostVolume& volume : after_.host_volumes)
    if (is_later(volume.modify_index)) changes_[volume.modify_index].host_volumes.push_back(&volume);
  for (const model::HostVolumeClaim& claim : after_.host_volume_claims)
    if (is_later(claim.create_index)) changes_[claim.create_index].claims.push_back(&claim);
}

void Between::take_allocs() {
  std::unordered_map<std::string_view, const model::Allocation*> known;
  for (const model::Allocation& alloc : before_.allocs) known.emplace(alloc.id, &alloc);
  allocs_.reserve(after_.allocs.size());
  for (const model::Allocation& object : after_.allocs) {
    if (!is_later(object.modify_index) && !is_later(object.create_index)) continue;
    const auto at = known.find(object.id);
    Alloc& alloc = allocs_.emplace_back(Alloc{.object = &object, .before = at == known.end() ? nullptr : at->second});
    alloc.changed = object.alloc_modify_index;
    alloc.healthy = alloc.transition = object.modify_index;
    alloc.ended = ended_at(alloc);
    if (object.deployment_status && object.deployment_status->modify_index > 0)
      alloc.healthy = object.deployment_status->modify_index;
    if (is_transition(object.desired_transition)) alloc.transition = transition_at(alloc);
    alloc.delayed = delayed_at(alloc);
    std::set<std::uint64_t> indexes = {alloc.changed,    alloc.ended,   alloc.healthy,
                                       alloc.transition, alloc.delayed, object.modify_index};
    if (!alloc.before) indexes.insert(object.create_index);
    for (const std::uint64_t index : indexes)
      if (is_later(index) && index >= object.create_index) changes_[index].allocs.push_back(&alloc);
  }
}

const Between::JobHistory* Between::history(const Alloc& alloc) const {
  const auto job = jobs_.find({alloc.object->namespace_, alloc.object->job_id});
  return job == jobs_.end() ? nullptr : &job->second;
}

/// The client's report of a failure creates an evaluation in the same entry. Other reports leave only the time at which
/// the tasks ended. Later changes of the allocation, such as the link to its replacement, raise ModifyIndex.
std::uint64_t Between::ended_at(const Alloc& alloc) const {
  const model::Allocation& object = *alloc.object;
  if (object.client_status == "lost" || object.client_status == "unknown") return alloc.changed;
  const std::int64_t end = end_time(object);
  if (!model::is_client_terminal(object) || end <= 0) return object.modify_index;
  std::uint64_t out = index_at(end + kReportDelay);
  const JobHistory* job = history(alloc);
  // A file written by hand may have CreateIndex > ModifyIndex.
  const auto bounded = [&] { return std::max(object.create_index, std::min(out, object.modify_index)); };
  if (object.client_status != "failed" || !job) return bounded();
  if (const auto evals = job->by_trigger.find("alloc-failure"); evals != job->by_trigger.end()) {
    const auto first = std::partition_point(evals->second.begin(), evals->second.end(), [&](const auto* eval) {
      return eval->create_index <= object.create_index || eval->create_time < end;
    });
    if (first != evals->second.end()) out = (*first)->create_index;
  }
  return bounded();
}

/// A drain, a deployment that reschedules, or an operator's stop writes the transition and creates an evaluation in one
/// entry.
std::uint64_t Between::transition_at(const Alloc& alloc) const {
  if (const auto later = evals_.find(alloc.object->followup_eval_id); later != evals_.end())
    if (const auto own = evals_.find(later->second->previous_eval); own != evals_.end())
      if (own->second->triggered_by == "deployment-watcher" && own->second->create_index > alloc.object->create_index)
        return own->second->create_index;
  std::uint64_t out = 0;
  if (const JobHistory* job = history(alloc))
    for (const char* trigger : {"node-drain", "deployment-watcher", "alloc-stop"}) {
      const bool reschedules = std::string_view(trigger) == "deployment-watcher";
      if (reschedules != (model::is_set(alloc.object->desired_transition.reschedule) &&
                          !model::is_set(alloc.object->desired_transition.migrate)))
        continue;
      const auto evals = job->by_trigger.find(trigger);
      if (evals == job->by_trigger.end()) continue;
      const auto later = std::partition_point(evals->second.begin(), evals->second.end(),
                                              [&](const auto* eval) { return eval->create_index <= alloc.changed; });
      if (later != evals->second.begin()) out = std::max(out, (*std::prev(later))->create_index);
    }
  return out > alloc.object->create_index ? out : alloc.object->modify_index;
}

/// The plan that gave a failed allocation a later evaluation, which names the evaluation of that plan; its result is
/// written right after it. 0: none, or the server's last change is this one.
std::uint64_t Between::delayed_at(const Alloc& alloc) const {
  const auto later = evals_.find(alloc.object->followup_eval_id);
  if (later == evals_.end() || later->second->create_index >= alloc.changed) return 0;
  const auto own = evals_.find(later->second->previous_eval);
  if (own == evals_.end()) return 0;
  const std::uint64_t index = own->second->modify_index - 1;
  return index > later->second->create_index && index > alloc.object->create_index && index < alloc.changed ? index : 0;
}

/// Evaluations that may have updated an allocation in place which the server changed again later.
void Between::find_hidden_updates() {
  std::map<const JobHistory*, std::map<std::uint64_t, std::uint64_t>>
      changed;  // version -> last change of older allocs
  for (const Alloc& alloc : allocs_) {
    const JobHistory* job = history(alloc);
    if (!job) continue;
    const auto newer = std::upper_bound(job->versions.begin(), job->versions.end(), alloc.object->create_index);
    if (newer == job->versions.end()) continue;
    std::uint64_t& last = changed[job][*newer];
    last = std::max(last, alloc.changed);
  }
  for (auto& [job, by_version] : changed) {
    std::uint64_t last = 0;
    for (auto& [version, change] : by_version) change = last = std::max(last, change);
    for (const model::Evaluation* eval : job->evals) {
      const auto after = by_version.upper_bound(eval->snapshot_index);
      if (after != by_version.begin() && std::prev(after)->second > eval->modify_index) hidden_.insert(eval->id);
    }
  }
}

/// Evaluations that may have given a failed allocation a later evaluation which a further one replaced.
void Between::find_hidden_delays() {
  std::map<const JobHistory*, std::map<std::uint64_t, std::uint64_t>> unknown;  // end -> the plan that shows
  for (const Alloc& alloc : allocs_) {
    const JobHistory* job = history(alloc);
    if (!job || alloc.object->client_status != "failed") continue;
    std::uint64_t& until = unknown[job][alloc.ended];
    until = std::max(until, alloc.delayed != 0 ? alloc.delayed : alloc.changed);
  }
  std::set<std::string_view> delaying;
  for (const model::Evaluation& eval : after_.evals)
    if (eval.triggered_by == "alloc-reschedule") delaying.insert(eval.previous_eval);
  for (auto& [job, by_end] : unknown) {
    std::uint64_t last = 0;
    for (auto& [end, until] : by_end) until = last = std::max(last, until);
    for (const model::Evaluation* eval : job->evals) {
      const auto after = by_end.upper_bound(eval->snapshot_index);
      if (delaying.count(eval->id) != 0 && after != by_end.begin() && std::prev(after)->second > eval->modify_index)
        hidden_.insert(eval->id);
    }
  }
}

const char* Between::why_unknown(const std::string& eval_id) const {
  if (hidden_.count(eval_id) != 0) return "its allocations were changed again later";
  const auto eval = evals_.find(eval_id);
  if (eval == evals_.end()) return nullptr;
  const auto after = unknown_nodes_.upper_bound(eval->second->snapshot_index);
  const bool unknown = after != unknown_nodes_.begin() && eval->second->snapshot_index < std::prev(after)->second;
  return unknown ? "a node changed again later" : nullptr;
}

/// The evaluation whose plan was committed at this index; null: unknown.
const model::Evaluation* Between::planned_by(const Changes& changes, std::uint64_t index) const {
  const auto is_plan_of = [&](const model::Evaluation& eval) {
    return eval.create_index < index && eval.snapshot_index < index && index <= eval.modify_index;
  };
  for (const Alloc* alloc : changes.allocs) {
    if (alloc->object->create_index != index) continue;
    const auto own = evals_.find(alloc->object->eval_id);
    if (own != evals_.end() && is_plan_of(*own->second)) return own->second;
  }
  for (const Alloc* alloc : changes.allocs) {
    if (alloc->object->create_index != index && alloc->changed != index && alloc->delayed != index) continue;
    if (alloc->changed == index && alloc->object->desired_status == "evict") continue;  // by a plan of another job
    const JobHistory* job = history(*alloc);
    if (!job) continue;
    auto eval = std::partition_point(job->evals.begin(), job->evals.end(),
                                     [&](const auto* one) { return one->create_index < index; });
    for (int tries = 0; eval != job->evals.begin() && tries < kEvalsTried; ++tries)
      if (is_plan_of(**--eval)) return *eval;
  }
  return nullptr;
}

/// The allocation after its change at `index`.
model::Allocation Between::alloc_at(const Alloc& alloc, std::uint64_t index) const {
  model::Allocation out = *alloc.object;
  static const model::Allocation kNew = [] {
    model::Allocation fresh;
    fresh.desired_status = "run", fresh.client_status = "pending";
    return fresh;
  }();
  const model::Allocation& old = alloc.before ? *alloc.before : kNew;
  if (index < alloc.changed) {
    out.desired_status = old.desired_status, out.desired_description = old.desired_description;
    out.preempted_by_allocation = old.preempted_by_allocation;
    out.alloc_modify_index = alloc.before ? old.alloc_modify_index : out.create_index;
    if (alloc.delayed != 0 && index >= alloc.delayed)
      out.alloc_modify_index = alloc.delayed;
    else
      out.followup_eval_id = old.followup_eval_id;
    if (out.desired_status == "run") out.job = old.job;  // an update in place may be the change
  }
  if (index < alloc.ended) {
    const bool is_live = !model::is_client_terminal(old);
    out.client_status = is_live && index > out.create_index ? "running" : old.client_status;
    out.task_states = old.task_states, out.alloc_states = old.alloc_states;
  }
  if (index < alloc.healthy && out.deployment_status) {
    out.deployment_status->healthy.reset();
    if (old.deployment_status) out.deployment_status = old.deployment_status;
    if (canaries_.count(out.id) != 0) out.deployment_status->canary = true;  // until its promotion
  }
  if (index < alloc.transition) out.desired_transition = old.desired_transition;
  if (index < out.modify_index) {
    out.next_allocation = old.next_allocation;
    out.modify_time = index == out.create_index ? out.create_time : 0;
    out.modify_index = index;
  }
  return out;
}

Result<void> Between::read(Reader& reader) {
  reader.take(before_, 0);
  if (after_.scheduler_config && is_later(after_.scheduler_config->modify_index)) reader.take(*after_.scheduler_config);
  for (const auto& [index, changes] : changes_) {
    io::EventFrame frame;
    frame.index = index;
    model::ClusterState& objects = frame.objects;
    for (const Alloc* alloc : changes.allocs) {
      objects.allocs.push_back(alloc_at(*alloc, index));
      if (objects.allocs.back().alloc_modify_index == index) frame.type = "PlanResult";
    }
    if (!frame.type.empty())
      if (const model::Evaluation* eval = planned_by(changes, index)) objects.evals.push_back(created(*eval));
    for (const auto* eval : changes.created) objects.evals.push_back(created(*eval));
    for (const auto* eval : changes.finished) objects.evals.push_back(*eval);
    for (const auto* node : changes.joined) objects.nodes.push_back(joined(*node));
    for (const auto* node : changes.nodes) objects.nodes.push_back(*node);
    for (const auto* pool : changes.pools) objects.node_pools.push_back(*pool);
    for (const auto* one : changes.begun) objects.deployments.push_back(unfinished(*one, false, index));
    for (const auto* one : changes.promoted) objects.deployments.push_back(unfinished(*one, true, index));
    for (const auto* one : changes.deployments) objects.deployments.push_back(*one);
    for (const auto* volume : changes.host_volumes) objects.host_volumes.push_back(*volume);
    for (const auto* claim : changes.claims) objects.host_volume_claims.push_back(*claim);
    objects.jobs = changes.jobs;
    if (!changes.purged.empty() && frame.type.empty()) frame.type = "JobBatchDeregistered";
    for (const auto& [name_space, id] : changes.purged)
      frame.gone.push_back({"Job", std::string(name_space), std::string(id)});
    reader.take(std::move(frame), 0);
  }
  return {};
}

}  // namespace berth::record
