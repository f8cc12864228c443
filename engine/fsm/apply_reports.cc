// Clients' reports on their allocations (R-CTRL-749, 766 to 770): as rows, or as API objects if they do not fit into a
// row.
#include <algorithm>

#include "fsm/change.h"
#include "fsm/csi_claims.h"
#include "fsm/deployment_counts.h"
#include "model/job.h"
#include "model/predicates.h"
#include "tables/export.h"

namespace berth::fsm {

using tables::AllocLinks;
using tables::AllocRow;
using tables::Client;
using tables::JobKeyRow;
using tables::kNoRow;
using tables::StoredEvalRow;

void ClientUpdateEntry::add(model::Allocation report) {
  reports.emplace_back().object = static_cast<std::uint32_t>(allocs.size());
  allocs.push_back(std::move(report));
}

void StateLog::ask_for(const tables::ClientReport& report) const {
  const tables::Snapshot& now = store_.current();
  const JobKeyRow key = now.allocs.job_key[report.row];
  tables::ask_for_neighbours(store_, report);
  now.jobs.keys.prefetch(key);
  base::prefetch(&store_.history()->jobs[key]);
  if (key < records_.size()) base::prefetch_all(static_cast<const JobProgress&>(records_[key]));
  if (const tables::VersionRow job = now.allocs.job[report.row]; job != kNoRow)
    base::prefetch(now.jobs.versions[job].get());
}

/// Prefetches the rest when the batch is written.
void StateLog::ask_further(const tables::ClientReport& report) const {
  const JobKeyRow key = store_.current().allocs.job_key[report.row];
  if (key >= records_.size() || !records_[key].summary || records_[key].summary->groups.empty()) return;
  base::prefetch_all(*records_[key].summary->groups.begin());
}

std::string StateLog::apply(std::uint64_t index, ClientUpdateEntry& entry, Hooks& hooks) {
  seen(index);
  tables::Commit commit = store_.begin_commit(index);
  Change change{commit, this, EntryKind::client_update};
  reported_jobs_.clear(), cancelled_.clear(), dropped_.clear(), written_evals_.clear();
  touch(change, Table::allocs);
  for (const tables::ClientReport& report : entry.reports)
    if (report.object == kNoRow) ask_further(report);
  for (tables::ClientReport& report : entry.reports) {
    if (report.object == kNoRow) {
      const tables::AllocTable& allocs = store_.current().allocs;
      if (!allocs.exists(report.row) || allocs.id[report.row] != report.id) continue;
      if (allocs.cold[report.row])
        write_report(change, report.row, to_update(store_.current(), report));
      else
        write_report(change, report.row, report);
      follow_csi_claims(commit, report.row);
      continue;
    }
    model::Allocation& object = entry.allocs[report.object];
    report.node = store_.find_node(object.node_id);
    report.status = tables::parse_client(object.client_status).value_or(Client::pending);
    if (const AllocRow row = alloc_row(object.id); row != kNoRow) {
      write_report(change, row, std::move(object));
      follow_csi_claims(commit, row);
    }
  }
  write_counted(change);
  cancel_followups(change);
  for (const model::Evaluation& eval : entry.evals) {
    written_evals_.push_back(upsert_eval(change, eval));
    set_job_status(change, store_.find_job_key(eval.namespace_, eval.job_id), "", false);
  }
  std::sort(reported_jobs_.begin(), reported_jobs_.end());
  reported_jobs_.erase(std::unique(reported_jobs_.begin(), reported_jobs_.end()), reported_jobs_.end());
  for (const JobKeyRow key : reported_jobs_) set_job_status(change, key, "", false);
  bool any_node = false;
  for (const tables::ClientReport& report : entry.reports) {  // R-CTRL-769
    if (report.node == kNoRow) continue;
    if (report.node >= last_alloc_update_.size()) last_alloc_update_.resize(report.node + 1);
    last_alloc_update_[report.node] = index;
    change.note(&EntryRows::nodes, report.node);
    any_node = true;
  }
  if (any_node) touch(change, Table::nodes);
  touch_summaries(change);
  for (const StoredEvalRow row : written_evals_) queue_hook(row, hooks);
  for (const tables::ClientReport& report : entry.reports) {  // R-CTRL-770
    if (report.status != Client::complete && report.status != Client::failed) continue;
    if (report.node == kNoRow || !store_.current().nodes.exists(report.node)) break;
    for (const HookKind kind : {HookKind::unblock_class_and_quota, HookKind::unblock_node}) {
      Hook& hook = hooks.emplace_back();
      hook.kind = kind, hook.index = index, hook.node = report.node;
    }
  }
  for (const StoredEvalRow row : dropped_) hooks.push_back({.kind = HookKind::drop_waiting, .eval = row});
  return "";
}

/// Stores a report in the row, without making an API object.
void StateLog::write_report(Change& change, AllocRow row, const tables::ClientReport& report) {
  const tables::Snapshot& now = store_.current();
  const tables::AllocLink& links = now.allocs.links[row];
  tables::Reported said = report.said;
  std::uint8_t health = links.health;
  constexpr std::uint8_t kKnown = AllocLinks::kHealthy | AllocLinks::kUnhealthy;
  if (report.health != 0 && (links.health & kKnown) != report.health) {  // R-CTRL-768
    health = static_cast<std::uint8_t>((links.health & ~kKnown) | AllocLinks::kHasStatus | report.health);
    said.health_at = report.said.health_at, said.health_index = change.index;
    if (links.deployment != kNoRow) count_health(row, health, report);
  } else if (const auto before = now.allocs.report_of(row)) {
    said.health_at = before->health_at, said.health_index = before->health_index;
  }
  const WrittenAlloc written{row, now.allocs.client[row], false};
  if (const JobKeyRow key = now.allocs.job_key[row]; reported_jobs_.empty() || reported_jobs_.back() != key)
    reported_jobs_.push_back(key);
  change.commit.write_report(row, report.status, said, health, report.modify_time);
  change.note(&EntryRows::allocs, row);
  count_in_summary(change.index, written);
}

/// Counts a row's change of health for its deployment, as count_in_deployment() does for an object.
void StateLog::count_health(AllocRow row, std::uint8_t health, const tables::ClientReport& report) {
  const tables::Snapshot& now = store_.current();
  const tables::AllocLink& links = now.allocs.links[row];
  if (!now.deployments.object[links.deployment]) return;
  const auto known = [](std::uint8_t bits) {
    std::optional<bool> out;
    if ((bits & (AllocLinks::kHealthy | AllocLinks::kUnhealthy)) != 0) out = (bits & AllocLinks::kHealthy) != 0;
    return out;
  };
  const HealthCounts counts = health_counts(false, known(links.health), known(health));
  const std::string& group = now.text(now.allocs.group[row]);
  const auto& groups = counted_so_far(links.deployment).task_groups;
  if (const auto listed = groups.find(group); counts.none() || listed == groups.end() || !listed->second) return;
  model::Deployment& deployment = count_in(links.deployment);
  deployment.modify_time = report.modify_time;
  canary_.clear();
  if ((health & AllocLinks::kCanary) != 0) base::write_text(now.allocs.id[row], canary_);
  add(counts, {canary_, report.modify_time, base::Time{report.said.health_at}}, *deployment.task_groups[group]);
}

/// Writes a report on an allocation with an API object.
void StateLog::write_report(Change& change, AllocRow row, model::Allocation&& report) {
  const std::uint64_t index = change.index;
  auto object = change.commit.take_object(row);
  model::Allocation& alloc = *object;
  model::Allocation before;  // the fields that count below
  before.deployment_id = alloc.deployment_id, before.deployment_status = alloc.deployment_status;
  const std::string followup(model::followup_to_cancel(alloc, report.client_status));  // R-CTRL-766
  if (!followup.empty()) {
    alloc.followup_eval_id.clear();
    bool shared = false;
    const tables::AllocTable& allocs = store_.current().allocs;
    const JobKeyRow key = store_.find_job_key(report.namespace_, alloc.job_id);
    AllocRow other = key == kNoRow ? kNoRow : store_.current().jobs.keys[key].alloc_head;
    for (; other != kNoRow && !shared; other = allocs.next_of_job[other])
      shared = other != row && !allocs.terminal(other) && allocs.cold[other] &&
               allocs.cold[other]->followup_eval_id == followup;
    if (!shared) cancelled_.push_back(followup);
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
  if (reported_jobs_.empty() || reported_jobs_.back() != key) reported_jobs_.push_back(key);
  const Client was = store_.current().allocs.client[row];
  store_alloc(change, row, std::move(object));
  count_in_summary(change.index, {row, was, false});
}

void StateLog::cancel_followups(Change& change) {
  for (const std::string& id : cancelled_) {
    const StoredEvalRow row = store_.find_eval(id);
    if (row == kNoRow) continue;
    // A finished evaluation becomes canceled as well: R-CTRL-766 does not test its status.
    if (store_.history()->evals[row].open) dropped_.push_back(row);
    close_eval(change, row, tables::kEvalCanceled, "allocs reconnected");
    change.commit.set_eval_modified(row, std::nullopt);
  }
}

}  // namespace berth::fsm
