// Job registration and deregistration in state (R-CTRL-735 to 743).
#include <algorithm>
#include <utility>

#include "base/json.h"
#include "fsm/change.h"
#include "fsm/csi_claims.h"
#include "model/job.h"
#include "model/predicates.h"

namespace berth::fsm {

using tables::AllocRow;
using tables::DeploymentRow;
using tables::JobKeyRow;
using tables::kNoRow;
using tables::StoredEvalRow;

namespace {

constexpr std::size_t kScalingEventsMax = 20;  // of a group (R-API-248)

}  // namespace

std::string StateLog::apply(std::uint64_t index, const JobRegisterEntry& entry, Hooks& hooks) {
  seen(index);
  const auto before = job(entry.job->namespace_, entry.job->id);
  if (entry.enforce_index)
    if (std::string error = model::check_enforced_index(before.get(), *entry.enforce_index); !error.empty())
      return error;
  const auto& namespaces = store_.current().cold->namespaces;
  const bool known =
      entry.job->namespace_ == "default" ||  // always exists (R-MODEL-32)
      std::any_of(namespaces.begin(), namespaces.end(), [&](const auto& n) { return n.name == entry.job->namespace_; });
  if (!known) return "job \"" + entry.job->id + "\" is in nonexistent namespace \"" + entry.job->namespace_ + "\"";
  model::Job job = *entry.job;
  if (job.node_pool.empty()) job.node_pool = "default";
  const auto& pools = store_.current().cold->node_pools;
  if (job.node_pool != "default" && job.node_pool != "all" &&
      std::none_of(pools.begin(), pools.end(), [&](const auto& pool) { return pool.name == job.node_pool; }))
    return "job \"" + job.id + "\" is in nonexistent node pool \"" + *job.node_pool + "\"";

  if (before && (entry.preserve_counts || entry.preserve_resources))  // R-CTRL-738
    for (model::TaskGroup& group : job.task_groups) {
      const model::TaskGroup* stored = before->group(group.name);
      if (!stored) continue;
      if (entry.preserve_counts) group.count = stored->count;
      if (!entry.preserve_resources) continue;
      for (model::Task& task : group.tasks)
        for (const model::Task& stored_task : stored->tasks)
          if (task.name == stored_task.name) task.resources = stored_task.resources;
    }

  tables::Commit commit = store_.begin_commit(index);
  Change change{commit, this, EntryKind::job_register};
  upsert_job(change, std::move(job), false, entry.submission ? &*entry.submission : nullptr);
  if (!entry.eval) return "";
  model::Evaluation eval = *entry.eval;
  eval.job_modify_index = index;
  const StoredEvalRow row = upsert_eval(change, std::move(eval));
  set_job_status(change, store_.find_job_key(entry.eval->namespace_, entry.eval->job_id), "", false);
  queue_hook(row, hooks);
  return "";
}

/// Deletes the job with everything that belongs to it (R-CTRL-742).
void StateLog::purge_job(Change& change, const std::shared_ptr<const model::Job>& purged, Hooks& hooks) {
  const model::Job& job = *purged;
  const JobKeyRow key = store_.find_job_key(job.namespace_, job.id);
  count_child(change, job, job.status, "dead");
  JobRecord& record = record_of(key);
  touch(change, Table::jobs);
  if (record.summary) touch(change, Table::job_summary);
  record.summary.reset();
  for (const auto& version : record.versions) change.commit.forget_version(*version);
  record.versions.clear();
  record.submissions.clear(), record.scaling.clear(), record.policies.clear();
  set_current(key, nullptr);
  change.note(&EntryRows::deleted_jobs, purged);
  const tables::DeploymentTable& deployments = store_.current().deployments;
  for (DeploymentRow row = store_.current().jobs.keys[key].deployment_head; row != kNoRow;) {
    const DeploymentRow older = deployments.next_of_job[row];
    change.commit.remove_deployment(row);
    touch(change, Table::deployment);
    row = older;
  }
  touch(change, Table::allocs);
  for (const AllocRow row : allocs_of(key)) {
    release_csi_claims(change.commit, row);
    change.commit.remove_alloc(row);
  }
  change.commit.purge_job(key);
  if (!std::exchange(record.gone, true)) gone_.push_back(key);
  for (const StoredEvalRow row : evals_of(key)) {
    if (store_.current().evals.status[row] != tables::kEvalPending) continue;
    close_eval(change, row, tables::kEvalComplete, "job " + job.id + " deleted");
    if (!quirks_.cancelled_evals_linger) hooks.push_back({.kind = HookKind::drop, .eval = row});
  }
}

std::string StateLog::apply(std::uint64_t index, const JobDeregisterEntry& entry, Hooks& hooks) {
  seen(index);
  tables::Commit commit = store_.begin_commit(index);
  Change change{commit, this, EntryKind::job_deregister};
  const auto before = job(entry.name_space, entry.job_id);
  if (before) {
    const JobKeyRow key = store_.find_job_key(entry.name_space, entry.job_id);
    if (entry.no_shutdown_delay)  // R-CTRL-741
      for (const AllocRow row : allocs_of(key)) {
        auto alloc = change.commit.take_object(row);
        alloc->desired_transition.no_shutdown_delay = true;
        alloc->modify_index = alloc->alloc_modify_index = index;
        store_alloc(change, row, std::move(alloc));
      }
    if (entry.purge) {
      purge_job(change, before, hooks);
    } else {  // R-CTRL-740
      model::Job job = model::untagged(*before);
      job.stop = true;
      job.submit_time = entry.submit_time;
      disable_scaling(job);
      upsert_job(change, std::move(job), false);
    }
  }
  if (!entry.eval) return "";
  model::Evaluation eval = *entry.eval;  // R-CTRL-743
  eval.job_modify_index = index;
  const StoredEvalRow row = upsert_eval(change, std::move(eval));
  set_job_status(change, store_.find_job_key(entry.eval->namespace_, entry.eval->job_id), "", false);
  queue_hook(row, hooks);
  return "";
}

// ---------------------------------------------------------------- existing jobs

void StateLog::rewrite_version(Change& change, JobKeyRow key, model::Job job) {
  job.modify_index = change.index;
  JobRecord& record = record_of(key);
  const auto object = std::make_shared<const model::Job>(std::move(job));
  if (record.current && record.current->version == object->version) return store_job_object(change, key, object);
  touch(change, Table::jobs);
  for (auto& version : record.versions)
    if (version->version == object->version) {
      change.commit.alias_version(object, *version);
      version = object;
    }
}

std::string StateLog::apply(std::uint64_t index, const ScalingEventEntry& entry, Hooks&) {
  seen(index);
  JobRecord* record = find_record(entry.name_space, entry.job_id);
  if (!record || !record->current) return "";
  std::vector<ScalingEvent>& events = record->scaling[entry.group];
  events.insert(events.begin(), entry.event)->create_index = index;
  if (events.size() > kScalingEventsMax) events.pop_back();
  return "";
}

std::string StateLog::apply(std::uint64_t index, const JobStabilityEntry& entry, Hooks&) {
  seen(index);
  const JobKeyRow key = store_.find_job_key(entry.name_space, entry.job_id);
  if (key == kNoRow) return "";
  for (const auto& version : record_of(key).versions) {
    if (version->version != entry.version || version->stable == entry.stable) continue;
    tables::Commit commit = store_.begin_commit(index);
    Change change{commit};
    model::Job job = *version;
    job.stable = entry.stable;
    upsert_job(change, std::move(job), true);  // becomes the current one, even if it is older (R-REG-438)
    break;
  }
  return "";
}

std::string StateLog::apply(std::uint64_t index, const VersionTagEntry& entry, Hooks&) {
  seen(index);
  const JobKeyRow key = store_.find_job_key(entry.name_space, entry.job_id);
  if (key == kNoRow) return "job \"" + entry.job_id + "\" not found";
  for (const auto& version : record_of(key).versions) {
    if (entry.remove ? version->version_tag["Name"].as_string() != entry.name : version->version != entry.version)
      continue;
    tables::Commit commit = store_.begin_commit(index);
    Change change{commit};
    model::Job job = *version;
    job.version_tag = {};
    if (!entry.remove) {
      job.version_tag.set("Name", entry.name), job.version_tag.set("Description", entry.description);
      job.version_tag.set("TaggedTime", entry.tagged_at);
    }
    rewrite_version(change, key, std::move(job));
    break;
  }
  return "";
}

}  // namespace berth::fsm
