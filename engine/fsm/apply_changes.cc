// Desired transitions and deployment changes (R-CTRL-744, 745, 1214 to 1217).
#include <algorithm>

#include "base/assert.h"
#include "base/later.h"
#include "base/text.h"
#include "fsm/change.h"
#include "model/job.h"
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
  Change change{commit, this, EntryKind::transition};
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
  for (const StoredEvalRow row : evals) queue_hook(row, hooks);
  return "";
}

// ---------------------------------------------------------------- deployments

std::string StateLog::apply(std::uint64_t index, const DeploymentStatusEntry& entry, Hooks& hooks) {
  seen(index);
  if (std::string error = why_not_active(entry.update.deployment_id); !error.empty()) return error;
  tables::Commit commit = store_.begin_commit(index);
  Change change{commit, this, EntryKind::deployment_status};
  update_deployment_status(change, entry.update);
  if (entry.job) upsert_job(change, model::untagged(*entry.job), false);
  if (entry.eval) queue_hook(upsert_eval(change, *entry.eval), hooks);
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
  const tables::Snapshot& now = store_.current();
  const tables::DeploymentRow own = store_.find_deployment(stored->id);
  BERTH_ASSERT(key != kNoRow);  // a stored deployment keeps the row of its job
  for (const AllocRow row : allocs_of(key)) {
    const std::string& group = now.text(now.allocs.group[row]);
    if (store_.history()->allocs[row].deployment != own || !in_scope(group)) continue;
    if (!now.is_canary(row) || now.allocs.terminal(row) || !now.is_healthy(row)) continue;
    ++healthy[group];
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
  Change change{commit, this, EntryKind::deployment_promotion};
  model::Deployment changed = *stored;
  for (auto& [name, group] : changed.task_groups) {
    if (!group || !in_scope(name)) continue;
    group->promoted = true;
    if (!group->require_progress_by.is_zero())
      group->require_progress_by = base::Time{base::later(entry.now, group->progress_deadline)};
  }
  if (changed.status == "running" && !model::requires_promotion(changed))  // a paused one keeps its text
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
  queue_hook(eval, hooks);
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
  Change change{commit, this, EntryKind::deployment_health};
  const auto mark = [&](const std::string& id, bool healthy) {
    const AllocRow row = alloc_row(id);
    auto object = change.commit.take_object(row);
    model::Allocation& changed = *object;
    model::Allocation before;  // the fields that count below
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
  write_counted(change);
  if (entry.update) update_deployment_status(change, *entry.update);
  if (entry.job) upsert_job(change, model::untagged(*entry.job), false);
  if (entry.eval) queue_hook(upsert_eval(change, *entry.eval), hooks);
  return "";
}

}  // namespace berth::fsm
