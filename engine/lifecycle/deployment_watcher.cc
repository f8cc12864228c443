#include "lifecycle/deployment_watcher.h"

#include <algorithm>

#include "lifecycle/alloc_facts.h"
#include "model/job.h"
#include "model/predicates.h"
#include "model/registration/job_canonical.h"
#include "model/update/spec_changed.h"
#include "tables/export.h"

namespace berth::lifecycle {

using tables::AllocRow;
using tables::DeploymentRow;
using tables::kNoRow;

namespace {

constexpr const char* kUnhealthy = "Failed due to unhealthy allocations";
constexpr const char* kDeadline = "Failed due to progress deadline";
constexpr const char* kByOperator = "Deployment marked as failed";

fsm::Answer refused_on_deployment(std::string why) {
  fsm::Answer answer;
  answer.error = std::move(why);
  return answer;
}

template <class Payload>
void write_into(fsm::StateLog& log, fsm::Answer& answer, const char* kind, const Payload& payload) {
  answer.index = log.next_index();
  answer.error = log.apply(answer.index, payload, answer.hooks);
  answer.entries.push_back({answer.index, kind, answer.error});
}

}  // namespace

// ---------------------------------------------------------------- changes

void DeploymentWatcher::become_leader() {
  watches_.clear(), requests_.clear();
  deadlines_.clear_all(), eval_batches_.clear_all();
  requests_at_ = kNever;
  dirty_.clear();
  const tables::DeploymentTable& deployments = log_.store().current().deployments;
  for (DeploymentRow row = 0; row < deployments.size(); ++row)
    if (deployments.active[row]) queue(row, watches_[row]);
}

void DeploymentWatcher::queue(DeploymentRow row, Watch& watch) {
  if (!watch.queued) dirty_.push_back(row);
  watch.queued = true;
}

void DeploymentWatcher::changed(const tables::Changes& changes) {
  const tables::Snapshot& state = log_.store().current();
  for (const DeploymentRow row : changes.deployments) {
    auto known = state.deployments.active[row] ? watches_.try_emplace(row).first : watches_.find(row);
    if (known == watches_.end()) continue;
    const auto &watched = known->second.deployment, &stored = state.deployments.object[row];
    if (watched && stored && watched->id != stored->id) {  // the row was reused
      unwatch(row);
      known = watches_.try_emplace(row).first;
    }
    known->second.row_changed = true;
    queue(row, known->second);
  }
  if (watches_.empty()) return;
  for (const AllocRow alloc : changes.allocs) {
    if (!state.allocs.exists(alloc)) continue;
    const DeploymentRow row = deployment_of(log_.store(), alloc);
    const auto known = row == kNoRow ? watches_.end() : watches_.find(row);
    if (known == watches_.end()) continue;
    known->second.allocs_changed = true;
    if (known->second.looked) known->second.allocs.push_back(alloc);
    queue(row, known->second);
  }
}

void DeploymentWatcher::advance(std::int64_t now, Outbox& out) {
  if (!dirty_.empty()) {
    const DeploymentRow row = dirty_.front();
    dirty_.pop_front();
    return look_at(row, now, out);
  }
  if (const auto row = deadlines_.take_due(now)) return hit_deadline(DeploymentRow(*row), now, out);
  if (const auto row = eval_batches_.take_due(now)) return end_eval_batch(DeploymentRow(*row), now);
  if (requests_at_ <= now) write_requests(now, out);
}

// ---------------------------------------------------------------- watches

void DeploymentWatcher::unwatch(DeploymentRow row) {
  watches_.erase(row);
  deadlines_.clear(row);
  eval_batches_.clear(row);
}

void DeploymentWatcher::look_at(DeploymentRow row, std::int64_t now, Outbox& out) {
  const tables::DeploymentTable& deployments = log_.store().current().deployments;
  const auto known = watches_.find(row);
  if (known == watches_.end()) return;
  Watch& watch = known->second;
  watch.queued = false;
  if (!deployments.object[row]) return unwatch(row);  // its job was purged
  if (!watch.job) {
    watch.deployment = deployments.object[row];
    watch.job = log_.job(watch.deployment->namespace_, watch.deployment->job_id);
    if (!watch.job || !deployments.active[row]) return unwatch(row);
  }
  // An entry may change both. Nomad's watcher sees the allocations first and still uses the old deployment: a
  // deployment that set_health() has failed is failed again, without effect (R-CTRL-1217).
  if (watch.allocs_changed) look_at_allocs(row, watch, now, out);
  watch.allocs_changed = false;
  if (!watch.row_changed) return;
  watch.row_changed = false;
  if (!deployments.active[row]) return unwatch(row);
  watch.deployment = deployments.object[row];
  set_deadline(row, watch);
}

std::vector<AllocRow> DeploymentWatcher::allocs_of(DeploymentRow row) const {
  const tables::Snapshot& state = log_.store().current();
  std::vector<AllocRow> rows;
  for (AllocRow alloc = state.jobs.keys[state.deployments.job_key[row]].alloc_head; alloc != kNoRow;
       alloc = state.allocs.next_of_job[alloc])
    if (deployment_of(log_.store(), alloc) == row) rows.push_back(alloc);
  return rows;
}

void DeploymentWatcher::set_deadline(DeploymentRow row, Watch& watch) {  // R-CTRL-1208, 1209
  const tables::Snapshot& state = log_.store().current();
  const model::Deployment& deployment = *state.deployments.object[row];
  const auto healthy = [&](const std::string& group) {
    std::int64_t count = 0;
    for (AllocRow alloc = state.jobs.keys[state.deployments.job_key[row]].alloc_head; alloc != kNoRow;
         alloc = state.allocs.next_of_job[alloc])
      count += !state.allocs.terminal(alloc) && deployment_of(log_.store(), alloc) == row &&
               health_of(state, alloc) == Health::healthy && group_name(state, alloc) == group;
    return count;
  };
  std::int64_t deadline = kNever;
  for (const auto& [name, group] : deployment.task_groups) {
    if (!group || group->require_progress_by.is_zero()) continue;
    const bool canaries = group->desired_canaries > 0 && !group->promoted;
    if (!canaries && healthy(name) >= group->desired_total) continue;  // done
    deadline = std::min(deadline, group->require_progress_by.ns);
  }
  if (deadline == watch.deadline) return;
  watch.deadline = deadline;
  if (deadline == kNever)
    deadlines_.clear(row);
  else
    deadlines_.set(row, deadline);
}

std::uint64_t DeploymentWatcher::latest_eval_index(const model::Deployment& deployment) const {  // R-CTRL-1205
  const tables::JobKeyRow key = log_.store().find_job_key(deployment.namespace_, deployment.job_id);
  if (key == kNoRow) return 0;
  const tables::EvalTable& evals = log_.store().current().evals;
  const tables::History& history = *log_.store().history();
  std::uint64_t most = 0;
  bool in_order = true;  // no evaluation saw a state before its creation: then order is irrelevant
  for (tables::StoredEvalRow row = history.jobs[key].eval_head; row != kNoRow; row = history.evals[row].next_of_job) {
    if (evals.status[row] == tables::kEvalCanceled) continue;
    const std::uint64_t snapshot_index = evals.packed[row].snapshot_index, create_index = evals.create_index[row];
    in_order = in_order && (snapshot_index == 0 || snapshot_index >= create_index);
    most = std::max(most, snapshot_index != 0 ? snapshot_index : create_index);
  }
  if (in_order) return most;
  std::vector<tables::StoredEvalRow> rows = log_.evals_of(key);
  std::erase_if(rows, [&](tables::StoredEvalRow row) { return evals.status[row] == tables::kEvalCanceled; });
  std::sort(rows.begin(), rows.end(), [&](auto a, auto b) { return evals.id[a] < evals.id[b]; });
  std::uint64_t latest = 0;
  for (const tables::StoredEvalRow row : rows) {
    const std::uint64_t snapshot_index = evals.packed[row].snapshot_index, create_index = evals.create_index[row];
    if (snapshot_index != 0 && snapshot_index > latest)
      latest = snapshot_index;
    else if (create_index > latest)
      latest = create_index;
  }
  return latest;
}

void DeploymentWatcher::look_at_allocs(DeploymentRow row, Watch& watch, std::int64_t now, Outbox& out) {
  const tables::Snapshot& state = log_.store().current();
  const std::shared_ptr<const model::Deployment> deployment = watch.deployment;
  const std::uint64_t latest_eval = latest_eval_index(*deployment);
  bool evaluate = false, fails = false, roll_back = false;
  std::set<std::string> replace;
  std::vector<AllocRow> rows;
  if (!watch.looked || latest_eval < watch.latest_eval) {
    rows = allocs_of(row);
  } else {
    rows.swap(watch.allocs);
    std::sort(rows.begin(), rows.end());
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    std::erase_if(
        rows, [&](AllocRow alloc) { return !state.allocs.exists(alloc) || deployment_of(log_.store(), alloc) != row; });
  }
  watch.looked = true, watch.latest_eval = latest_eval;
  watch.allocs.clear();
  for (const AllocRow alloc_row : rows) {  // R-CTRL-1204
    const auto listed = deployment->task_groups.find(group_name(state, alloc_row));
    const Health health = health_of(state, alloc_row);
    if (listed == deployment->task_groups.end() || !listed->second || health == Health::unknown) continue;
    const model::DeploymentState& group = *listed->second;
    if (health == Health::healthy) {
      if (health_index(state, alloc_row) <= latest_eval) continue;
      evaluate = true;
      watch.allocs.push_back(alloc_row);
      continue;
    }
    watch.allocs.push_back(alloc_row);
    const model::Allocation alloc = log_.stored_alloc(alloc_row);
    const bool active = model::is_active_deployment(deployment->status);
    const bool failing =
        group.progress_deadline == 0 ||  // R-CTRL-1206
        (active && !model::is_reschedule_eligible(alloc, model::reschedule_policy_of(alloc), base::Time{now}));
    if (failing) {
      fails = true;
      roll_back = roll_back || group.auto_revert;
    } else if (active && !model::is_set(alloc.desired_transition.reschedule)) {
      replace.insert(alloc.id);
    }
  }
  if (fails) {
    fail_deployment(watch, roll_back, watch.deadline_hit ? kDeadline : kUnhealthy, now, out);
    return;
  }
  promote_automatically(watch, now, out);  // R-CTRL-1207
  if (!evaluate && replace.empty()) return;
  watch.replace.merge(replace);
  if (!eval_batches_.has(row)) eval_batches_.set(row, now + config_.eval_batch_ns);
}

// ---------------------------------------------------------------- batches

model::Evaluation DeploymentWatcher::new_eval(const model::Deployment& deployment, const model::Job& job,
                                              std::int64_t now) {  // R-CTRL-222
  model::Evaluation eval;
  eval.id = next_id_();
  eval.namespace_ = deployment.namespace_, eval.job_id = deployment.job_id;
  eval.type = job.type;
  eval.priority = deployment.eval_priority != 0 ? deployment.eval_priority : job.priority;
  eval.triggered_by = "deployment-watcher";
  eval.deployment_id = deployment.id;
  eval.status = "pending";
  eval.create_time = eval.modify_time = now;
  return eval;
}

void DeploymentWatcher::end_eval_batch(DeploymentRow row, std::int64_t now) {
  Watch& watch = watches_.at(row);
  const auto& deployment = watch.deployment;
  Request& request = requests_[deployment->id];
  request.replace.merge(watch.replace);
  watch.replace.clear();
  request.eval = new_eval(*deployment, *watch.job, now);
  if (requests_at_ == kNever) requests_at_ = now + config_.entry_batch_ns;
}

void DeploymentWatcher::write_requests(std::int64_t now, Outbox& out) {
  fsm::TransitionEntry entry;
  model::DesiredTransition reschedule;
  reschedule.reschedule = true;
  for (auto& [id, request] : requests_) {
    for (const std::string& alloc : request.replace) entry.allocs.emplace_back(alloc, reschedule);
    entry.evals.push_back(std::move(request.eval));
  }
  requests_.clear();
  requests_at_ = kNever;
  out.write(log_, now, "alloc_transition", entry);
}

// ---------------------------------------------------------------- ends

void DeploymentWatcher::hit_deadline(DeploymentRow row, std::int64_t now, Outbox& out) {  // R-CTRL-1210
  Watch& watch = watches_.at(row);
  const auto& deployment = watch.deployment;
  if (log_.quirks().deadline_text_sticks) watch.deadline_hit = true;
  if (deployment->status == "paused") return;
  bool fails = false, roll_back = false;
  for (const auto& [name, group] : deployment->task_groups) {
    if (!group) continue;
    const bool canaries = group->desired_canaries > 0 && !group->promoted;
    if (group->healthy_allocs >= (canaries ? group->desired_canaries : group->desired_total)) continue;
    fails = true;
    roll_back = roll_back || group->auto_revert;
  }
  if (fails) fail_deployment(watch, roll_back, kDeadline, now, out);
}

DeploymentWatcher::Rollback DeploymentWatcher::rollback_of(const model::Job& watched,
                                                           bool silent_without_stable) const {  // R-CTRL-1211, 1213
  const fsm::JobRecord* record = log_.record(watched.namespace_, watched.id);
  std::shared_ptr<const model::Job> stable;
  if (record)
    for (const auto& version : record->versions)
      if (version->stable) {
        stable = version;
        break;
      }
  if (!stable) return {nullptr, silent_without_stable ? "" : " - no stable job version to auto revert to"};
  const std::string version = std::to_string(stable->version);
  if (!model::spec_changed(watched, *stable))
    return {nullptr, " - not rolling back to stable job version " + version + " as current job has same specification"};
  return {stable, " - rolling back to job version " + version};
}

void DeploymentWatcher::fail_deployment(const Watch& watch, bool roll_back, std::string description, std::int64_t now,
                                        Outbox& out) {
  const auto& deployment = watch.deployment;
  fsm::DeploymentStatusEntry entry;
  if (roll_back) {
    Rollback rollback = rollback_of(*watch.job, false);
    entry.job = std::move(rollback.job);
    description += rollback.text;
  }
  entry.update = {deployment->id, "failed", std::move(description), now};
  entry.eval = new_eval(*deployment, *watch.job, now);
  out.write(log_, now, "deployment_status", entry);
}

/// Scans the allocations of the deployment's job; an index by ID would be used only here.
std::int64_t DeploymentWatcher::healthy_canaries(const model::Deployment& deployment,
                                                 const std::vector<std::string>& ids) const {
  const tables::Snapshot& state = log_.store().current();
  const tables::JobKeyRow key = log_.store().find_job_key(deployment.namespace_, deployment.job_id);
  if (key == kNoRow) return 0;
  std::vector<base::Uuid> canaries;
  for (const std::string& id : ids)
    if (const auto canary = base::parse_uuid(id)) canaries.push_back(*canary);
  std::int64_t healthy = 0;
  for (AllocRow alloc = state.jobs.keys[key].alloc_head; alloc != kNoRow; alloc = state.allocs.next_of_job[alloc])
    if (health_of(state, alloc) == Health::healthy)
      healthy += std::count(canaries.begin(), canaries.end(), state.allocs.id[alloc]);
  return healthy;
}

void DeploymentWatcher::promote_automatically(const Watch& watch, std::int64_t now, Outbox& out) {
  const auto& deployment = watch.deployment;
  if (deployment->status != "running" || !model::requires_promotion(*deployment) ||  // R-CTRL-1212
      !model::has_placed_canaries(*deployment))
    return;
  const auto stored = log_.deployment(deployment->id);  // only once: the watch may not have seen the promoted row yet
  if (!stored || !model::requires_promotion(*stored)) return;
  for (const auto& [name, group] : deployment->task_groups) {
    if (!group || group->desired_canaries < 1) continue;
    if (!group->auto_promote || static_cast<std::int64_t>(group->placed_canaries.size()) < group->desired_canaries)
      return;
    if (healthy_canaries(*deployment, group->placed_canaries) != group->desired_canaries) return;
  }
  fsm::DeploymentPromoteEntry entry;
  entry.deployment_id = deployment->id;
  entry.all = true;
  entry.now = now;
  if (!log_.quirks().promotion_without_time) entry.promoted_at = now;
  entry.eval = new_eval(*deployment, *watch.job, now);
  out.write(log_, now, "deployment_promote", entry);
}

// ---------------------------------------------------------------- requests

std::shared_ptr<const model::Job> DeploymentWatcher::job_of(const model::Deployment& deployment) const {
  const auto watch = watches_.find(log_.store().find_deployment(deployment.id));
  const bool started = watch != watches_.end() && watch->second.job;
  return started ? watch->second.job : log_.job(deployment.namespace_, deployment.job_id);
}

fsm::Answer DeploymentWatcher::promote(const std::string& deployment_id, const std::vector<std::string>& groups,
                                       std::int64_t promoted_at, std::int64_t now) {
  const auto deployment = log_.deployment(deployment_id);
  if (!deployment) return refused_on_deployment("deployment not found");
  if (!model::is_active_deployment(deployment->status))
    return refused_on_deployment("can't promote terminal deployment");
  const auto job = job_of(*deployment);
  if (!job) return refused_on_deployment("job not found");
  fsm::DeploymentPromoteEntry entry;
  entry.deployment_id = deployment_id;
  entry.all = groups.empty();
  entry.groups = groups;
  entry.promoted_at = promoted_at;
  entry.now = now;
  entry.eval = new_eval(*deployment, *job, now);
  fsm::Answer answer;
  write_into(log_, answer, "deployment_promote", entry);
  if (answer.error.empty()) answer.eval_id = entry.eval->id;
  return answer;
}

fsm::Answer DeploymentWatcher::pause(const std::string& deployment_id, bool pause, std::int64_t now) {  // R-CTRL-1215
  const auto deployment = log_.deployment(deployment_id);
  if (!deployment) return refused_on_deployment("deployment not found");
  if (!model::is_active_deployment(deployment->status))
    return refused_on_deployment(pause ? "can't pause terminal deployment" : "can't resume terminal deployment");
  const auto job = job_of(*deployment);
  if (!job) return refused_on_deployment("job not found");
  fsm::DeploymentStatusEntry entry;
  entry.update = {deployment_id, pause ? "paused" : "running", pause ? "Deployment is paused" : "Deployment is running",
                  now};
  if (!pause) entry.eval = new_eval(*deployment, *job, now);
  fsm::Answer answer;
  write_into(log_, answer, "deployment_status", entry);
  if (entry.eval && answer.error.empty()) answer.eval_id = entry.eval->id;
  return answer;
}

fsm::Answer DeploymentWatcher::fail(const std::string& deployment_id, std::int64_t now) {
  const auto deployment = log_.deployment(deployment_id);
  if (!deployment) return refused_on_deployment("deployment not found");
  if (!model::is_active_deployment(deployment->status)) return refused_on_deployment("can't fail terminal deployment");
  const auto job = job_of(*deployment);
  if (!job) return refused_on_deployment("job not found");
  fsm::DeploymentStatusEntry entry;
  std::string description = kByOperator;
  const bool roll_back = std::any_of(deployment->task_groups.begin(), deployment->task_groups.end(),
                                     [](const auto& group) { return group.second && group.second->auto_revert; });
  if (roll_back) {
    Rollback rollback = rollback_of(*job, false);
    entry.job = std::move(rollback.job);
    description += rollback.text;
  }
  entry.update = {deployment_id, "failed", std::move(description), now};
  entry.eval = new_eval(*deployment, *job, now);
  fsm::Answer answer;
  write_into(log_, answer, "deployment_status", entry);
  if (!answer.error.empty()) return answer;
  answer.eval_id = entry.eval->id;
  if (entry.job) answer.reverted_version = entry.job->version;
  return answer;
}

fsm::Answer DeploymentWatcher::set_health(const std::string& deployment_id, const std::vector<std::string>& healthy,
                                          const std::vector<std::string>& unhealthy,
                                          std::int64_t now) {  // R-CTRL-1216
  const auto deployment = log_.deployment(deployment_id);
  if (!deployment) return refused_on_deployment("deployment not found");
  if (healthy.empty() && unhealthy.empty())
    return refused_on_deployment("must specify at least one healthy/unhealthy allocation ID");
  if (!model::is_active_deployment(deployment->status))
    return refused_on_deployment("can't set health of allocations for a terminal deployment");
  const auto job = job_of(*deployment);
  if (!job) return refused_on_deployment("job not found");
  fsm::DeploymentHealthEntry entry;
  entry.deployment_id = deployment_id;
  entry.healthy = healthy, entry.unhealthy = unhealthy;
  entry.timestamp = base::Time{now};
  if (!unhealthy.empty()) {
    std::string description = kUnhealthy;
    const tables::Snapshot& state = log_.store().current();
    const bool roll_back = std::any_of(unhealthy.begin(), unhealthy.end(), [&](const std::string& id) {
      const AllocRow alloc = log_.store().find_alloc(id);
      if (alloc == kNoRow) return false;
      const auto group = deployment->task_groups.find(group_name(state, alloc));
      return group != deployment->task_groups.end() && group->second && group->second->auto_revert;
    });
    if (roll_back) {
      const Rollback rollback = rollback_of(*job, true);
      if (rollback.job) {  // only this path fills in missing defaults of the version
        auto filled = std::make_shared<model::Job>(*rollback.job);
        model::canonicalize(*filled);
        entry.job = std::move(filled);
      }
      description += rollback.text;
    }
    entry.update = model::DeploymentStatusUpdate{deployment_id, "failed", std::move(description), now};
  }
  entry.eval = new_eval(*deployment, *job, now);
  fsm::Answer answer;
  write_into(log_, answer, "deployment_health", entry);
  if (!answer.error.empty()) return answer;
  answer.eval_id = entry.eval->id;
  if (entry.job) answer.reverted_version = entry.job->version;
  return answer;
}

}  // namespace berth::lifecycle
