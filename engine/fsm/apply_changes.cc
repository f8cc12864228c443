// Desired transitions, client reports, deployment changes and node states (R-CTRL-744 to 771, 926, 1214 to 1217).
#include <algorithm>

#include "base/text.h"
#include "fsm/change.h"
#include "model/predicates.h"
#include "model/registration/error_list.h"
#include "tables/export.h"

namespace berth::fsm {

using tables::AllocRow;
using tables::JobKeyRow;
using tables::kNoRow;
using tables::NodeRow;
using tables::StoredEvalRow;

std::string StateLog::apply(std::uint64_t index, const TransitionEntry& entry, Hooks& hooks) {
  seen(index);
  tables::Commit commit = store_.begin_commit(index);
  Change change{commit};
  touch(change, Table::allocs);
  for (const auto& [id, transition] : entry.allocs) {
    const AllocRow row = alloc_row(id);
    if (row == kNoRow) continue;  // R-CTRL-745
    auto object = change.commit.take_object(row);
    model::Allocation& alloc = *object;
    model::DesiredTransition& to = alloc.desired_transition;
    const auto take = [](std::optional<bool>& field, const std::optional<bool>& update) {
      if (update) field = update;
    };
    take(to.migrate, transition.migrate);
    take(to.reschedule, transition.reschedule);
    take(to.force_reschedule, transition.force_reschedule);
    take(to.no_shutdown_delay, transition.no_shutdown_delay);
    take(to.migrate_disable_placement, transition.migrate_disable_placement);
    alloc.modify_index = alloc.alloc_modify_index = index;
    store_alloc(change, row, std::move(object));
  }
  std::vector<StoredEvalRow> evals;
  for (const model::Evaluation& eval : entry.evals) evals.push_back(upsert_eval(change, eval));
  for (const StoredEvalRow row : evals) queue_stored(row, hooks);
  return "";
}

std::string StateLog::apply(std::uint64_t index, ClientUpdateEntry entry, Hooks& hooks) {
  seen(index);
  tables::Commit commit = store_.begin_commit(index);
  Change change{commit};
  std::vector<JobKeyRow> jobs;
  std::vector<std::string> cancelled;
  std::vector<NodeRow> nodes;
  touch(change, Table::allocs);
  for (model::Allocation& report : entry.allocs) {
    nodes.push_back(nodes.empty() || report.node_id != entry.allocs[nodes.size() - 1].node_id
                        ? store_.find_node(report.node_id)
                        : nodes.back());
    const AllocRow row = alloc_row(report.id);
    if (row == kNoRow) continue;
    auto object = change.commit.take_object(row);
    model::Allocation& alloc = *object;
    model::Allocation before;  // what counts below
    before.deployment_id = alloc.deployment_id, before.deployment_status = alloc.deployment_status;
    const std::string followup(model::followup_to_cancel(alloc, report.client_status));  // R-CTRL-766
    if (!followup.empty()) {
      alloc.followup_eval_id.clear();
      bool shared = false;
      if (const JobKeyRow key = store_.find_job_key(report.namespace_, alloc.job_id); key != kNoRow)
        for (const AllocRow other : allocs_of(key)) {
          if (other == row || store_.current().allocs.terminal(other)) continue;
          const auto& cold = store_.current().allocs.cold[other];
          shared |= cold && cold->followup_eval_id == followup;
        }
      if (!shared) cancelled.push_back(followup);
    }
    alloc.client_status = report.client_status;  // R-CTRL-767
    alloc.client_description = std::move(report.client_description);
    alloc.task_states = std::move(report.task_states);
    alloc.network_status = std::move(report.network_status);
    alloc.modify_time = report.modify_time;
    alloc.modify_index = index;
    if (model::has_health(report)) {  // R-CTRL-768
      if (alloc.deployment_status) {
        if (!alloc.deployment_status->healthy ||
            *alloc.deployment_status->healthy != *report.deployment_status->healthy) {
          alloc.deployment_status->healthy = report.deployment_status->healthy;
          alloc.deployment_status->timestamp = report.deployment_status->timestamp;
          alloc.deployment_status->modify_index = index;
        }
      }
    }
    if (report.deployment_status && !alloc.deployment_status) {
      alloc.deployment_status = report.deployment_status;
      alloc.deployment_status->modify_index = index;
    }
    count_in_deployment(change, alloc, before);
    const JobKeyRow key = store_.current().allocs.job_key[row];
    if (jobs.empty() || jobs.back() != key) jobs.push_back(key);
    const tables::Client was = store_.current().allocs.client[row];
    store_alloc(change, row, std::move(object));
    count_in_summary(change, {row, was, false});
  }
  std::vector<std::shared_ptr<const model::Evaluation>> dropped;
  for (const std::string& id : cancelled) {
    const StoredEvalRow row = store_.find_eval(id);
    if (row == kNoRow || model::is_terminal_evaluation(store_.current().evals.object[row]->status)) continue;
    model::Evaluation gone = *store_.current().evals.object[row];
    gone.status = "canceled";
    gone.status_description = "allocs reconnected";
    gone.modify_index = index;
    store_eval(change, row, store_.current().evals.id[row], std::move(gone));
    dropped.push_back(store_.current().evals.object[row]);
  }
  std::vector<StoredEvalRow> evals;
  for (const model::Evaluation& eval : entry.evals) {
    evals.push_back(upsert_eval(change, eval));
    set_job_status(change, store_.find_job_key(eval.namespace_, eval.job_id), "", false);
  }
  std::sort(jobs.begin(), jobs.end());
  jobs.erase(std::unique(jobs.begin(), jobs.end()), jobs.end());
  for (const JobKeyRow key : jobs) set_job_status(change, key, "", false);
  for (const NodeRow node : nodes) {  // R-CTRL-769
    if (node == kNoRow) continue;
    if (node >= last_alloc_update_.size()) last_alloc_update_.resize(node + 1);
    last_alloc_update_[node] = index;
    touch(change, Table::nodes);
  }
  for (const StoredEvalRow row : evals) queue_stored(row, hooks);
  for (std::size_t i = 0; i < entry.allocs.size(); ++i) {  // R-CTRL-770
    const std::string& status = entry.allocs[i].client_status;
    if (status != "complete" && status != "failed") continue;
    const tables::Snapshot& now = store_.current();
    if (nodes[i] == kNoRow || !now.nodes.exists(nodes[i])) break;
    const std::string* computed_class = now.value_text(tables::kComputedClassColumn, nodes[i]);
    hooks.push_back({HookKind::unblock_class_and_quota, nullptr, {}, computed_class ? *computed_class : "", index});
    hooks.push_back({HookKind::unblock_node, nullptr, {}, tables::node_id(now, nodes[i]), index});
  }
  for (auto& eval : dropped) hooks.push_back({HookKind::drop_waiting, std::move(eval), {}, {}, 0});
  return "";
}

// ---------------------------------------------------------------- deployments

std::string StateLog::apply(std::uint64_t index, const DeploymentStatusEntry& entry, Hooks& hooks) {
  seen(index);
  if (std::string error = why_not_active(entry.update.deployment_id); !error.empty()) return error;
  tables::Commit commit = store_.begin_commit(index);
  Change change{commit};
  update_deployment_status(change, entry.update);
  if (entry.job) upsert_job(change, *entry.job, false);
  if (entry.eval) queue_stored(upsert_eval(change, *entry.eval), hooks);
  return "";
}

std::string StateLog::apply(std::uint64_t index, const DeploymentPromoteEntry& entry, Hooks& hooks) {  // R-CTRL-1214
  seen(index);
  if (std::string error = why_not_active(entry.deployment_id); !error.empty()) return error;
  const auto stored = deployment(entry.deployment_id);
  const auto in_scope = [&](const std::string& group) {
    return entry.all || std::find(entry.groups.begin(), entry.groups.end(), group) != entry.groups.end();
  };
  const JobKeyRow key = store_.find_job_key(stored->namespace_, stored->job_id);
  std::map<std::string, std::int64_t> healthy;
  std::vector<AllocRow> canaries;
  for (const AllocRow row : key == kNoRow ? std::vector<AllocRow>{} : allocs_of(key)) {
    const auto& cold = store_.current().allocs.cold[row];
    if (!cold || cold->deployment_id != stored->id || !in_scope(cold->task_group)) continue;
    if (!model::is_canary(*cold) || store_.current().allocs.terminal(row) || !model::is_healthy(*cold)) continue;
    ++healthy[cold->task_group];
    canaries.push_back(row);
  }
  model::ErrorList errors;
  for (const auto& [name, group] : stored->task_groups) {
    if (!group || !in_scope(name) || group->desired_canaries == 0 || healthy[name] >= group->desired_canaries) continue;
    errors.add("Task group \"" + name + "\" has " + std::to_string(healthy[name]) + "/" +
               std::to_string(group->desired_canaries) + " healthy allocations");
  }
  if (!errors.empty()) return errors.text();

  tables::Commit commit = store_.begin_commit(index);
  Change change{commit};
  model::Deployment changed = *stored;
  for (auto& [name, group] : changed.task_groups) {
    if (!group || !in_scope(name)) continue;
    group->promoted = true;
    if (!group->require_progress_by.is_zero())
      group->require_progress_by = base::Time{entry.now + group->progress_deadline};
  }
  if (changed.status == "running" && !model::requires_promotion(changed))  // one that is paused says so still
    changed.status_description = "Deployment is running";
  changed.modify_time = entry.promoted_at;
  upsert_deployment(change, std::move(changed));
  const StoredEvalRow eval = entry.eval ? upsert_eval(change, *entry.eval) : kNoRow;
  touch(change, Table::allocs);
  for (const AllocRow row : canaries) {
    auto alloc = change.commit.take_object(row);
    alloc->deployment_status->canary = false;
    alloc->deployment_status->modify_index = index;
    alloc->modify_index = alloc->alloc_modify_index = index;
    store_alloc(change, row, std::move(alloc));
  }
  queue_stored(eval, hooks);
  return "";
}

std::string StateLog::apply(std::uint64_t index, const DeploymentHealthEntry& entry, Hooks& hooks) {  // R-CTRL-1216
  seen(index);
  if (std::string error = why_not_active(entry.deployment_id); !error.empty()) return error;
  const auto stored = deployment(entry.deployment_id);
  for (const auto* ids : {&entry.healthy, &entry.unhealthy})
    for (const std::string& id : *ids) {
      const auto listed = alloc(id);
      if (!listed) return "Unknown allocation \"" + id + "\"";
      if (listed->deployment_id != entry.deployment_id)
        return "alloc \"" + id + "\" is not part of deployment \"" + entry.deployment_id + "\"";
    }
  if (entry.update)
    if (std::string error = why_not_active(entry.update->deployment_id); !error.empty()) return error;

  tables::Commit commit = store_.begin_commit(index);
  Change change{commit};
  const auto mark = [&](const std::string& id, bool healthy) {
    const AllocRow row = alloc_row(id);
    auto object = change.commit.take_object(row);
    model::Allocation& changed = *object;
    model::Allocation before;  // what counts below
    before.deployment_id = changed.deployment_id, before.deployment_status = changed.deployment_status;
    if (!changed.deployment_status) changed.deployment_status.emplace();
    changed.deployment_status->healthy = healthy;
    changed.deployment_status->timestamp = entry.timestamp;
    changed.deployment_status->modify_index = index;
    changed.modify_index = index;
    changed.modify_time = entry.timestamp.ns;
    count_in_deployment(change, changed, before);
    store_alloc(change, row, std::move(object));
  };
  for (const std::string& id : entry.healthy) mark(id, true);
  for (const std::string& id : entry.unhealthy) mark(id, false);
  if (entry.update) update_deployment_status(change, *entry.update);
  if (entry.job) upsert_job(change, *entry.job, false);
  if (entry.eval) queue_stored(upsert_eval(change, *entry.eval), hooks);
  return "";
}

}  // namespace berth::fsm
