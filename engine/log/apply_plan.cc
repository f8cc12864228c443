// Plan commits: deployments, allocations, summaries, job status (R-CTRL-701 to 730).
#include <algorithm>

#include "log/change.h"
#include "model/plan_predicates.h"
#include "model/predicates.h"

namespace berth::log {

using tables::AllocRow;
using tables::JobKeyRow;
using tables::kNoRow;

namespace {

constexpr const char* kIneligibleMessage =
    "Node marked as ineligible for scheduling due to multiple plan rejections, refer to "
    "https://developer.hashicorp.com/nomad/s/port-plan-failure for more information";
constexpr std::size_t kNodeEventsMax = 10;  // R-CTRL-905

std::optional<Bin> bin_of(std::string_view client_status) {
  if (client_status == "pending") return Bin::starting;
  if (client_status == "running") return Bin::running;
  if (client_status == "failed") return Bin::failed;
  if (client_status == "complete") return Bin::complete;
  if (client_status == "lost") return Bin::lost;
  if (client_status == "unknown") return Bin::unknown;
  return std::nullopt;
}

}  // namespace

// ---------------------------------------------------------------- what an allocation changes elsewhere

void StateLog::count_in_summary(Change& change, const model::Allocation& alloc, const model::Allocation* before) {
  JobRecord* record = find_record(alloc.namespace_, alloc.job_id);
  if (!record || !record->current || !record->summary || !alloc.job) return;
  if (record->summary->create_index != alloc.job->create_index) return;  // R-CTRL-724
  const auto found = record->summary->groups.find(alloc.task_group);
  if (found == record->summary->groups.end()) return;
  GroupSummary& group = found->second;
  if (!before) {  // R-CTRL-722
    if (alloc.client_status != "pending") return;
    ++group[Bin::starting];
    if (group[Bin::queued] > 0) --group[Bin::queued];
  } else {  // R-CTRL-723
    if (before->client_status == alloc.client_status) return;
    if (const auto bin = bin_of(alloc.client_status)) ++group[*bin];
    const auto left = bin_of(before->client_status);
    if (left && *left != Bin::failed && *left != Bin::complete && group[*left] > 0) --group[*left];
  }
  record->summary->modify_index = change.index;
  touch(change, Table::job_summary);
}

void StateLog::count_in_deployment(Change& change, model::Allocation& alloc, const model::Allocation* before) {
  if (alloc.deployment_id.empty()) return;
  const auto stored = deployment(alloc.deployment_id);
  if (!stored) return;
  const auto listed = stored->task_groups.find(alloc.task_group);
  if (listed == stored->task_groups.end() || !listed->second) return;
  int placed = 0, healthy = 0, unhealthy = 0;  // R-CTRL-727
  const bool had_health = before && model::has_health(*before), has_health = model::has_health(alloc);
  if (!before || before->deployment_id != alloc.deployment_id)
    placed = 1;
  else if (has_health && !had_health)
    *alloc.deployment_status->healthy ? ++healthy : ++unhealthy;
  else if (has_health && had_health && *before->deployment_status->healthy && !*alloc.deployment_status->healthy)
    --healthy, ++unhealthy;
  if (placed == 0 && healthy == 0 && unhealthy == 0) return;
  model::Deployment changed = *stored;
  changed.modify_index = change.index;
  changed.modify_time = alloc.modify_time;
  model::DeploymentState& group = *changed.task_groups[alloc.task_group];
  group.placed_allocs += placed;
  group.healthy_allocs += healthy;
  group.unhealthy_allocs += unhealthy;
  if (healthy != 0 || unhealthy != 0) alloc.deployment_status->modify_index = change.index;  // R-CTRL-728
  if (model::is_canary(alloc) &&
      std::find(group.placed_canaries.begin(), group.placed_canaries.end(), alloc.id) == group.placed_canaries.end())
    group.placed_canaries.push_back(alloc.id);
  if (group.progress_deadline != 0) {  // R-CTRL-729
    if (placed != 0) {
      if (group.require_progress_by.is_zero())
        group.require_progress_by = base::Time{alloc.modify_time + group.progress_deadline};
    } else if (healthy != 0 && !alloc.deployment_status->timestamp.is_zero()) {
      const base::Time by{alloc.deployment_status->timestamp.ns + group.progress_deadline};
      if (by > group.require_progress_by) group.require_progress_by = by;
    }
  }
  upsert_deployment(change, std::move(changed));
}

// ---------------------------------------------------------------- deployments

void StateLog::upsert_deployment(Change& change, model::Deployment deployment) {
  const auto before = this->deployment(deployment.id);
  deployment.create_index = before ? before->create_index : change.index;
  deployment.modify_index = change.index;
  store_deployment(change, deployment);
  mark_stable(change, deployment);
}

void StateLog::mark_stable(Change& change, const model::Deployment& deployment) {
  if (deployment.status != "successful") return;
  JobRecord* record = find_record(deployment.namespace_, deployment.job_id);
  if (!record) return;
  for (const auto& stored : record->versions) {
    if (stored->version != deployment.job_version) continue;
    if (stored->stable) return;
    model::Job job = *stored;
    job.stable = true;
    upsert_job(change, std::move(job), true);
    return;
  }
}

std::string StateLog::why_not_active(const std::string& deployment_id) {
  const auto stored = deployment(deployment_id);
  if (!stored) return "Deployment ID \"" + deployment_id + "\" couldn't be updated as it does not exist";
  if (!model::is_active_deployment(stored->status))
    return "Deployment \"" + deployment_id + "\" has terminal status \"" + stored->status + "\":";
  return "";
}

void StateLog::update_deployment_status(Change& change, const model::DeploymentStatusUpdate& update) {
  model::Deployment changed = *deployment(update.deployment_id);
  changed.status = update.status;
  changed.status_description = update.status_description;
  changed.modify_time = update.updated_at;
  if (update.status == "running" || update.status == "paused")  // R-CTRL-1215
    for (auto& [name, group] : changed.task_groups)
      if (group && group->progress_deadline != 0)
        group->require_progress_by = base::Time{update.updated_at + group->progress_deadline};
  upsert_deployment(change, std::move(changed));
}

// ---------------------------------------------------------------- nodes

void StateLog::mark_ineligible(Change& change, const std::string& node_id, const PlanEntry& entry) {  // R-CTRL-631
  auto node = this->node(node_id);
  if (!node) return;
  node->scheduling_eligibility = "ineligible";
  node->modify_index = change.index;
  node->status_updated_at = entry.updated_at;  // ns, though the field is in seconds everywhere else
  json::Value event = json::Value::object();
  event.set("Message", kIneligibleMessage);
  event.set("Subsystem", "Scheduler");
  event.set("Timestamp", base::to_rfc3339(base::Time{entry.updated_at}));
  event.set("CreateIndex", change.index);
  json::Array& events = node->events.items();
  events.push_back(std::move(event));
  if (events.size() > kNodeEventsMax) events.erase(events.begin());
  change.commit.upsert_node(*node);
  touch(change, Table::nodes);
}

// ---------------------------------------------------------------- the entry

void StateLog::upsert_alloc(Change& change, model::Allocation alloc,
                            const std::shared_ptr<const model::Job>& plan_job) {
  const AllocRow row = alloc_row(alloc.id);
  if (!alloc.job && plan_job && !model::is_terminal(alloc)) alloc.job = plan_job;  // R-CTRL-710
  std::optional<model::Allocation> before;
  if (row == kNoRow) {
    const auto current = job(alloc.namespace_, alloc.job_id);
    if (!current || current->stop) return;                                              // R-CTRL-712
    alloc.create_index = alloc.modify_index = alloc.alloc_modify_index = change.index;  // R-CTRL-711
    if (alloc.deployment_status) alloc.deployment_status->modify_index = change.index;
  } else {  // R-CTRL-713
    before = stored_alloc(row);
    alloc.create_index = before->create_index;
    alloc.modify_index = alloc.alloc_modify_index = change.index;
    if (!before->next_allocation.empty()) alloc.next_allocation = before->next_allocation;
    alloc.task_states = before->task_states;
    if (alloc.client_status != "lost" && alloc.client_status != "unknown") {
      alloc.client_status = before->client_status;
      alloc.client_description = before->client_description;
    }
    if (!alloc.job) alloc.job = before->job;
  }
  count_in_deployment(change, alloc, before ? &*before : nullptr);
  count_in_summary(change, alloc, before ? &*before : nullptr);
  const std::string previous = alloc.previous_allocation, id = alloc.id;
  store_alloc(change, row, std::move(alloc));
  if (previous.empty()) return;
  const AllocRow previous_row = alloc_row(previous);
  if (previous_row == kNoRow) return;
  model::Allocation link = stored_alloc(previous_row);  // R-CTRL-714
  link.next_allocation = id;
  link.modify_index = change.index;
  store_alloc(change, previous_row, std::move(link));
}

std::string StateLog::apply(std::uint64_t index, const PlanEntry& entry, Hooks& hooks) {
  seen(index);
  // What can fail is looked at before anything is written: a failed entry changes nothing.
  std::vector<model::Allocation> allocs;
  for (const model::Allocation& placed : entry.updated) {
    const bool attached = placed.job || (entry.job && !model::is_terminal(placed));
    if (!attached && alloc_row(placed.id) == kNoRow)
      return "attempting to upsert allocation \"" + placed.id + "\" without a job";
    allocs.push_back(placed);
  }
  for (const model::Allocation& stop : entry.stopped) {  // R-CTRL-702
    auto stored = alloc(stop.id);
    if (!stored) return "alloc " + stop.id + " doesn't exist";
    stored->desired_status = "stop";
    stored->desired_description = stop.desired_description;
    stored->alloc_states = stop.alloc_states;
    if (!stop.client_status.empty()) stored->client_status = stop.client_status;
    if (!stop.followup_eval_id.empty()) stored->followup_eval_id = stop.followup_eval_id;
    if (!quirks_.reschedule_loses_description && stop.reschedule_tracker)
      stored->reschedule_tracker = stop.reschedule_tracker;
    stored->modify_time = stop.modify_time;
    allocs.push_back(std::move(*stored));
  }
  for (const model::Allocation& preempted : entry.preempted) {  // R-CTRL-701
    auto stored = alloc(preempted.id);
    if (!stored) return "alloc " + preempted.id + " doesn't exist";
    stored->desired_status = "evict";
    stored->preempted_by_allocation = preempted.preempted_by_allocation;
    stored->desired_description = "Preempted by alloc ID " + preempted.preempted_by_allocation;
    stored->modify_time = preempted.modify_time;
    allocs.push_back(std::move(*stored));
  }
  if (entry.deployment)
    if (const auto before = deployment(entry.deployment->id);
        before && model::undoes_promotion(*entry.deployment, *before))
      return std::string(model::kPromotionUndone);
  const auto plan_eval = eval(entry.eval_id);
  if (!entry.eval_id.empty() && !plan_eval) return "failed to get evaluation \"" + entry.eval_id + "\"";

  Change change{store_.begin_commit(index), index};
  for (const std::string& node_id : entry.ineligible_nodes) mark_ineligible(change, node_id, entry);
  if (entry.deployment) {
    model::Deployment deployment = *entry.deployment;
    if (const auto before = this->deployment(deployment.id)) model::keep_stored_counts(deployment, *before);
    upsert_deployment(change, std::move(deployment));
  }
  for (model::DeploymentStatusUpdate update : entry.deployment_updates) {
    if (!why_not_active(update.deployment_id).empty()) break;  // R-CTRL-708
    update.updated_at = entry.updated_at;
    update_deployment_status(change, update);
  }
  if (plan_eval) {
    model::Evaluation changed = *plan_eval;
    changed.modify_index = index;
    store_eval(change, std::move(changed));
  }
  touch(change, Table::allocs);  // also when no allocation changed
  struct Forced {
    JobKeyRow key;
    bool live;
  };
  std::vector<Forced> jobs;  // R-CTRL-715
  for (model::Allocation& alloc : allocs) {
    const std::string id = alloc.id;
    const JobKeyRow key = change.commit.job_key(alloc.namespace_, alloc.job_id);
    upsert_alloc(change, std::move(alloc), entry.job);
    const AllocRow row = alloc_row(id);
    if (row == kNoRow) continue;  // dropped (R-CTRL-712)
    const bool live = !store_.current().allocs.terminal(row);
    const auto known = std::find_if(jobs.begin(), jobs.end(), [&](const Forced& f) { return f.key == key; });
    if (known == jobs.end())
      jobs.push_back({key, live});
    else
      known->live = live;
  }
  for (const Forced& job : jobs) set_job_status(change, job.key, job.live ? "running" : "", false);
  for (const model::Evaluation& eval : entry.preemption_evals) upsert_eval(change, eval);  // R-CTRL-709
  for (const model::Evaluation& eval : entry.preemption_evals) queue_stored(eval.id, hooks);
  return "";
}

}  // namespace berth::log
