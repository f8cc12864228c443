#include "reconcile/node.h"

#include "base/wrap.h"
#include "match/version.h"
#include "model/job.h"
#include "model/names.h"
#include "model/plan_predicates.h"
#include "model/predicates.h"

namespace berth::reconcile {

using model::ClientStatus;
using model::DesiredStatus;

void required_names(const model::Job* job, std::vector<RequiredName>& out) {
  out.clear();
  if (model::is_stopped(job)) return;
  for (std::size_t g = 0; g < job->task_groups.size(); ++g)
    for (std::int64_t i = 0; i < job->task_groups[g].count; ++i)
      out.push_back({static_cast<std::uint32_t>(g), static_cast<std::uint32_t>(i)});
}

std::uint32_t required_position(const model::Job& job, std::span<const RequiredName> required, std::string_view name) {
  if (!name.starts_with(job.name) || name.size() <= job.name.size()) return kNoRow;
  for (std::uint32_t r = 0; r < required.size(); ++r)
    if (name == model::alloc_name(job.name, job.task_groups[required[r].group].name, required[r].index)) return r;
  return kNoRow;
}

std::uint8_t flags_of(const model::Allocation& alloc, ClientStatus client, std::int64_t now) {
  std::uint8_t out = model::is_set(alloc.desired_transition.migrate) ? NodeAlloc::kMigrate : 0;
  if (!alloc.alloc_states.empty() && (client == ClientStatus::unknown || client == ClientStatus::running) &&
      model::needs_to_reconnect(alloc)) {
    out |= NodeAlloc::kReconnects;
    const model::TaskGroup* group = model::group_of(alloc);
    const base::Time since = model::last_unknown(alloc);
    if (client == ClientStatus::unknown && group && !since.is_zero() &&
        base::wrap_add(since.ns, model::lost_after(*group)) <= now)
      out |= NodeAlloc::kExpired;
  }
  if (model::ran_successfully(alloc)) out |= NodeAlloc::kSuccessful;
  return out;
}

void NodeResult::clear() {
  for (auto* bucket : {&place, &update, &migrate, &stop, &ignore, &lost, &disconnecting, &reconnecting})
    bucket->clear();
  deployment.reset();
  deployment_created = same_version = false;
  old_deployment.clear();
  deployment_updates.clear();
  created_id.clear();
}

bool is_before_deployments(std::string_view nomad_version) {
  static const match::Version kFirst{.segments = {1, 11, 0}, .written = 3, .prerelease = {}};
  const auto version = match::parse_version(nomad_version);
  return version && match::compare(*version, kFirst) < 0;
}

const NodeResult& NodeReconciler::run(const NodeInput& input, IdSource& ids) {
  input_ = &input;
  ids_ = &ids;
  result_.clear();
  stopped_ = model::is_stopped(input.job);
  sysbatch_ = input.job && input.job->type == "sysbatch";
  live_of_.assign(input.required.size(), 0);
  attaches_.clear();
  if (input.job)
    for (const model::TaskGroup& group : input.job->task_groups)
      attaches_.push_back(model::has_update_strategy(group) ? kMissing : kNeverAttached);
  if (input.use_deployments && input.deployment) result_.deployment = *input.deployment;
  old_is_current_version_ = false;
  if (input.old_deployment) {
    result_.old_deployment = input.old_deployment->id;
    old_is_current_version_ = input.job && input.old_deployment->job_version == input.job->version;
  }
  frozen_ = false;

  for (std::uint32_t v = 0; v < input.visits.size(); ++v) {
    const NodeVisit& visit = input.visits[v];
    if (result_.deployment) settle_deployment();
    node_seen_ = live_seen_ = false;
    updates_before_ = result_.update.size();
    for (std::uint32_t row = visit.live_begin; row < visit.live_end; ++row) decide_live(v, row);
    for (std::uint32_t row = visit.live_end; row < visit.terminal_end; ++row)
      node_seen_ = node_seen_ || input.allocs[row].has(NodeAlloc::kSameVersion);
    for (std::uint32_t r = 0; r < input.required.size(); ++r) decide_missing(v, r);
  }

  if (input.conclude && !input.deployment && (result_.same_version || input.old_servers)) result_.deployment.reset();
  if (!result_.deployment) result_.deployment_created = false;
  return result_;
}

void NodeReconciler::settle_deployment() {  // R-SCHED-134 to 137, 139
  model::Deployment& d = *result_.deployment;
  const bool active = model::is_active_deployment(d.status);
  if (stopped_) {
    if (active)
      result_.deployment_updates.push_back(
          {result_.deployment_created, "cancelled", "Cancelled because job is stopped"});
    return;
  }
  const bool other = d.job_create_index != input_->job->create_index || d.job_version != input_->job->version;
  // A failed or cancelled deployment stays and prevents a new one (R-SCHED-138).
  if ((other && (active || !input_->quirks.failed_deployment_stays)) || d.status == "successful") {
    if (other && active)
      result_.deployment_updates.push_back(
          {result_.deployment_created, "cancelled", "Cancelled due to newer version of job"});
    result_.old_deployment = d.id;
    old_is_current_version_ = d.job_version == input_->job->version;
    result_.deployment.reset();
    frozen_ = false;
    for (std::uint8_t& group : attaches_) group = group != kNeverAttached ? kMissing : kNeverAttached;
    return;
  }
  frozen_ = d.status == "paused" || d.status == "pending" || d.status == "initializing" || d.status == "failed";
}

bool NodeReconciler::is_canary(std::uint32_t group) const {  // R-SCHED-130
  const auto& update = input_->job->task_groups[group].update;
  if (!input_->use_deployments || attaches_[group] == kNeverAttached || update->canary <= 0) return false;
  if (!result_.deployment) return true;
  const auto entry = result_.deployment->task_groups.find(input_->job->task_groups[group].name);
  return entry != result_.deployment->task_groups.end() && entry->second && !entry->second->promoted;
}

void NodeReconciler::decide_live(std::uint32_t v, std::uint32_t row) {  // R-SCHED-129
  const NodeVisit& visit = input_->visits[v];
  const NodeAlloc& a = input_->allocs[row];
  const bool tainted = visit.taint != NodeTaint::none, supports = input_->disconnect_support;
  NodeTuple tuple{v, row, a.required, false};
  if (a.required != kNoRow) live_of_[a.required] = v + 1;
  if (a.has(NodeAlloc::kSameVersion)) node_seen_ = live_seen_ = true;
  const auto keep = [&] {
    result_.same_version = true;
    result_.ignore.push_back(tuple);
  };
  if (a.required == kNoRow)
    result_.stop.push_back(tuple);
  else if (a.has(NodeAlloc::kMigrate))
    result_.migrate.push_back(tuple);
  else if (supports && a.has(NodeAlloc::kExpired))
    result_.lost.push_back(tuple);
  else if (supports && a.client == ClientStatus::unknown && a.desired == DesiredStatus::run)
    result_.ignore.push_back(tuple);  // row 4: does not set the flag
  else if (supports && !tainted && a.has(NodeAlloc::kReconnects))
    result_.reconnecting.push_back(tuple);
  else if (tainted && a.has(NodeAlloc::kSysbatchJob) && a.has(NodeAlloc::kSuccessful))
    keep();
  else if (supports && visit.taint == NodeTaint::disconnected && a.client == ClientStatus::running)
    result_.disconnecting.push_back(tuple);
  else if (visit.taint == NodeTaint::gone || visit.taint == NodeTaint::down)
    result_.lost.push_back(tuple);
  else if (tainted)
    keep();
  else if (visit.not_ready && !a.has(NodeAlloc::kSameSpec))
    result_.stop.push_back(tuple);
  else if (visit.not_ready)
    keep();
  else if (!visit.candidate)
    result_.stop.push_back(tuple);
  else if (!a.has(NodeAlloc::kSameSpec))
    tuple.canary = is_canary(input_->required[a.required].group), result_.update.push_back(tuple);
  else
    keep();
}

void NodeReconciler::decide_missing(std::uint32_t v, std::uint32_t r) {  // R-SCHED-132
  const NodeVisit& visit = input_->visits[v];
  const std::uint32_t group = input_->required[r].group;
  if (live_of_[r] != v + 1) {
    NodeTuple tuple{v, kNoRow, r, false};
    for (std::uint32_t row = visit.live_end; row < visit.terminal_end; ++row)
      if (input_->allocs[row].required == r) tuple.alloc = row;
    if (sysbatch_ && tuple.alloc != kNoRow) {
      (input_->allocs[tuple.alloc].has(NodeAlloc::kSameSpec) ? result_.ignore : result_.update).push_back(tuple);
      return;
    }
    if (visit.taint != NodeTaint::none || !visit.candidate) return;
    result_.place.push_back(tuple);
  }
  if (input_->use_deployments && attaches_[group] == kMissing) attach_state(group);
}

void NodeReconciler::attach_state(std::uint32_t group) {  // R-SCHED-140 to 143
  const model::Job& job = *input_->job;
  const std::string& name = job.task_groups[group].name;
  if (result_.deployment && result_.deployment->task_groups.contains(name)) {  // a null entry counts
    attaches_[group] = kAttached;
    return;
  }
  if (frozen_ || old_is_current_version_) return;
  result_.same_version = result_.same_version || live_seen_;
  if (node_seen_ && result_.update.size() == updates_before_) return;
  if (!result_.deployment) {
    result_.deployment_created = true;
    result_.created_id = ids_->next_deployment_id();
    result_.deployment = model::new_deployment(job, result_.created_id, job.priority, input_->now);
    result_.deployment_updates.push_back({true, "running", "Deployment is running"});
  }
  attaches_[group] = kAttached;
  const model::UpdateStrategy& update = *job.task_groups[group].update;
  model::DeploymentState& state = result_.deployment->task_groups[name].emplace();
  state.auto_revert = update.auto_revert;
  state.auto_promote = update.auto_promote;
  state.progress_deadline = update.progress_deadline;
}

}  // namespace berth::reconcile
