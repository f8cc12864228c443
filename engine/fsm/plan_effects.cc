// Effects of plan commits, client reports and deployment changes on job records and deployments: summaries, stable
// versions, statuses (R-CTRL-704, 709, 715, 721 to 730).
#include <algorithm>

#include "fsm/change.h"
#include "fsm/csi_claims.h"
#include "fsm/deployment_counts.h"
#include "model/job.h"
#include "model/predicates.h"

namespace berth::fsm {

using tables::Client;
using tables::JobKeyRow;
using tables::kNoRow;

namespace {

constexpr std::size_t kReplaced = 64;  // replaced deployment objects stored for reuse

Bin bin_of(Client client) {
  switch (client) {
    case Client::pending:
      return Bin::starting;
    case Client::running:
      return Bin::running;
    case Client::failed:
      return Bin::failed;
    case Client::complete:
      return Bin::complete;
    case Client::lost:
      return Bin::lost;
    case Client::unknown:
      break;
  }
  return Bin::unknown;
}

}  // namespace

void StateLog::count_in_summary(std::uint64_t index, const WrittenAlloc& written) {
  const tables::Snapshot& now = store_.current();
  const tables::AllocTable& allocs = now.allocs;
  JobRecord& record = record_of(allocs.job_key[written.row]);
  if (!record.current || !record.summary || allocs.job[written.row] == kNoRow) return;
  // Skip allocations of an earlier job of this name (R-CTRL-724).
  if (record.summary->create_index != now.jobs.versions[allocs.job[written.row]]->create_index) return;
  GroupSummary* const found = record.summary->groups.find(now.text(allocs.group[written.row]));
  if (found == nullptr) return;
  GroupSummary& group = *found;
  const Client client = allocs.client[written.row];
  if (written.is_new) {  // R-CTRL-722
    if (client != Client::pending) return;
    ++group[Bin::starting];
    if (group[Bin::queued] > 0) --group[Bin::queued];
  } else {  // R-CTRL-723
    if (written.before == client) return;
    ++group[bin_of(client)];
    const Bin left = bin_of(written.before);
    if (left != Bin::failed && left != Bin::complete && group[left] > 0) --group[left];
  }
  record.summary->modify_index = index;
  summaries_changed_ = true;
}

/// The counters of R-CTRL-721 from the job's allocations. `Queued` comes from the newest evaluation that has it
/// (R-CTRL-725), or from `before`.
JobSummary StateLog::counted_summary(JobKeyRow key, const std::optional<JobSummary>& before) const {
  const tables::Snapshot& now = store_.current();
  const model::Job& job = *records_[key].current;
  JobSummary out;
  out.create_index = before ? before->create_index : job.create_index;
  out.modify_index = before ? before->modify_index : job.modify_index;
  for (const model::TaskGroup& group : job.task_groups) out.groups.add(group.name);
  if (before)
    for (auto [name, counts] : before->groups) out.groups[name][Bin::queued] = counts[Bin::queued];
  for (tables::AllocRow row = now.jobs.keys[key].alloc_head; row != kNoRow; row = now.allocs.next_of_job[row]) {
    const tables::VersionRow version = now.allocs.job[row];
    if (version == kNoRow || now.jobs.versions[version]->create_index != out.create_index) continue;  // R-CTRL-724
    if (GroupSummary* group = out.groups.find(now.text(now.allocs.group[row])))
      ++(*group)[bin_of(now.allocs.client[row])];
  }
  if (before) return out;
  for (const tables::StoredEvalRow row : evals_of(key))  // oldest first
    if (const auto eval = now.eval(row); eval && eval->queued_allocations)
      for (const auto& [name, queued] : *eval->queued_allocations)
        if (GroupSummary* group = out.groups.find(name)) (*group)[Bin::queued] = queued;
  return out;
}

void StateLog::recount_summaries(bool only_missing) {
  std::vector<JobKeyRow> counted;
  std::uint64_t newest = 0;
  for (JobKeyRow key = 0; key < records_.size(); ++key) {
    JobRecord& record = records_[key];
    if (!record.current || (only_missing && record.summary)) continue;
    record.summary = counted_summary(key, record.summary);
    record.summary->children_pending = record.summary->children_running = record.summary->children_dead = 0;
    newest = std::max(newest, record.summary->modify_index);
    counted.push_back(key);
  }
  std::sort(counted.begin(), counted.end());
  for (JobKeyRow key = 0; key < records_.size(); ++key) {
    const JobRecord& child = records_[key];
    if (!child.current || child.current->parent_id.empty()) continue;
    const JobKeyRow parent = store_.find_job_key(child.current->namespace_, *child.current->parent_id);
    if (!std::binary_search(counted.begin(), counted.end(), parent)) continue;
    JobSummary& summary = *records_[parent].summary;
    if (child.current->status == "pending") ++summary.children_pending;
    if (child.current->status == "running") ++summary.children_running;
    if (child.current->status == "dead") ++summary.children_dead;
  }
  if (table_index(Table::job_summary) < newest) set_table_index(Table::job_summary, newest);
}

void StateLog::touch_summaries(Change& change) {
  if (std::exchange(summaries_changed_, false)) touch(change, Table::job_summary);
}

void StateLog::count_in_deployment(Change& change, model::Allocation& alloc, const model::Allocation& before) {
  const tables::DeploymentRow row = store_.find_deployment(alloc.deployment_id);
  if (row == kNoRow || !store_.current().deployments.object[row]) return;
  if (auto changed = counted(counted_so_far(row), alloc, &before, change.index)) count_in(row) = std::move(*changed);
}

const model::Deployment& StateLog::counted_so_far(tables::DeploymentRow row) const {
  const std::uint32_t at = row < counted_at_.size() ? counted_at_[row] : 0;
  return at != 0 ? *counted_[at - 1].second : *store_.current().deployments.object[row];
}

model::Deployment& StateLog::count_in(tables::DeploymentRow row) {
  if (row >= counted_at_.size()) counted_at_.resize(row + 1);
  if (counted_at_[row] == 0) {
    counted_.emplace_back(row, copy_of(*store_.current().deployments.object[row]));
    counted_at_[row] = static_cast<std::uint32_t>(counted_.size());
  }
  return *counted_[counted_at_[row] - 1].second;
}

std::shared_ptr<model::Deployment> StateLog::copy_of(const model::Deployment& stored) {
  const auto free =
      std::find_if(replaced_.begin(), replaced_.end(), [](const auto& one) { return one.use_count() == 1; });
  if (free == replaced_.end()) return std::make_shared<model::Deployment>(stored);
  const auto copy = std::const_pointer_cast<model::Deployment>(*free);
  *free = std::move(replaced_.back());
  replaced_.pop_back();
  *copy = stored;
  return copy;
}

void StateLog::write_counted(Change& change) {
  for (auto& [row, deployment] : counted_) {
    counted_at_[row] = 0;
    if (replaced_.size() < kReplaced) replaced_.push_back(store_.current().deployments.object[row]);
    write_deployment(change, row, std::move(deployment));
  }
  counted_.clear();
}

// ---------------------------------------------------------------- deployments

void StateLog::upsert_deployment(Change& change, model::Deployment deployment) {
  const tables::DeploymentRow row = store_.find_deployment(deployment.id);
  write_deployment(change, row, std::make_shared<model::Deployment>(std::move(deployment)));
}

void StateLog::write_deployment(Change& change, tables::DeploymentRow row,
                                std::shared_ptr<model::Deployment> deployment) {
  const tables::DeploymentTable& deployments = store_.current().deployments;
  deployment->create_index = row != kNoRow ? deployments.object[row]->create_index : change.index;
  deployment->modify_index = change.index;
  touch(change, Table::deployment);
  if (row != kNoRow)
    change.commit.rewrite_deployment(row, std::move(deployment));
  else
    row = change.commit.upsert_deployment(std::move(*deployment));
  change.note(&EntryRows::deployments, row);
  if (row == kNoRow) return;
  const auto stored = deployments.object[row];  // keeps the object alive while the job is written
  mark_stable(change, *stored);
}

void StateLog::mark_stable(Change& change, const model::Deployment& deployment) {  // R-CTRL-730
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
  upsert_deployment(change, with_status(*deployment(update.deployment_id), update.status, update.status_description,
                                        update.updated_at));
}

// ---------------------------------------------------------------- plans

/// A plan contains its job as stored when the plan was made. Allocations that it places or updates show that job.
void StateLog::keep_planned_job(tables::Commit& commit, const WrittenAlloc& written) {
  const tables::Snapshot& now = store_.current();
  const tables::AllocTable& allocs = now.allocs;
  const auto& known = allocs.planned_jobs;
  const model::Job* before = written.row < known.size() ? known[written.row].get() : nullptr;
  const tables::VersionRow row = allocs.job[written.row];
  const std::uint64_t version = row == kNoRow ? 0 : now.jobs.versions[row]->version;
  if (!written.is_new && !written.takes_job && before && before->version == version) return;
  const auto& stored = now.jobs.objects[allocs.job_key[written.row]];
  commit.set_planned_job(written.row, stored && row != kNoRow && version == stored->version ? stored : nullptr);
}

void StateLog::adopt(tables::Commit& commit, const PlanCommit& plan, Hooks& hooks) {
  seen(commit.index());
  Change change{commit, this, EntryKind::plan};
  if (store_.history()) adopt_records(change, plan);
  std::vector<tables::StoredEvalRow> evals;
  for (const model::Evaluation& eval : plan.preemption_evals) evals.push_back(upsert_eval(change, eval));  // R-CTRL-709
  for (const tables::StoredEvalRow row : evals) queue_hook(row, hooks);
}

void StateLog::adopt_records(Change& change, const PlanCommit& plan) {
  const tables::Snapshot& now = store_.current();
  if (plan.wrote_nodes) touch(change, Table::nodes);
  if (!plan.deployments.empty()) touch(change, Table::deployment);
  for (const tables::DeploymentRow row : plan.deployments) {
    change.note(&EntryRows::deployments, row);
    mark_stable(change, *now.deployments.object[row]);
  }
  if (plan.eval != kNoRow) touch(change, Table::evals), change.note(&EntryRows::evals, plan.eval);
  touch(change, Table::allocs);  // even if no allocation changed
  affected_.clear();
  for (const WrittenAlloc& written : plan.allocs) {
    count_in_summary(change.index, written);
    change.note(&EntryRows::allocs, written.row);
    if (keeps_planned_jobs_) keep_planned_job(change.commit, written);
    if (!written.is_new) follow_csi_claims(change.commit, written.row);  // lost ones, for example
    const JobKeyRow key = now.allocs.job_key[written.row];
    const bool live = !now.allocs.terminal(written.row);
    const auto known =
        std::find_if(affected_.begin(), affected_.end(), [&](const auto& affected) { return affected.first == key; });
    if (known == affected_.end())
      affected_.emplace_back(key, live);
    else
      known->second = live;
  }
  touch_summaries(change);
  for (const auto& [key, live] : affected_) set_job_status(change, key, live ? "running" : "", false);  // R-CTRL-715
}

}  // namespace berth::fsm
