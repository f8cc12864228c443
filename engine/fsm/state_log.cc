#include "fsm/state_log.h"

#include <algorithm>
#include <limits>

#include "base/sha256.h"
#include "base/text.h"
#include "fsm/change.h"
#include "model/job.h"
#include "model/predicates.h"
#include "tables/export.h"

namespace berth::fsm {

using tables::AllocRow;
using tables::JobKeyRow;
using tables::kNoRow;
using tables::NodeRow;
using tables::StoredEvalRow;

namespace {

constexpr std::int64_t kNeverCollectable = std::numeric_limits<std::int64_t>::max();

/// ID for a policy without one, as in a handmade state: the same at every load.
std::string id_of_names(const model::Job& job, const ScalingPolicy& policy) {
  base::Sha256 names;
  names.add(job.namespace_ + '\n' + job.id + '\n' + policy.group + '\n' + policy.task + '\n' + policy.type);
  const std::string digest = names.hex();
  return digest.substr(0, 8) + "-" + digest.substr(8, 4) + "-" + digest.substr(12, 4) + "-" + digest.substr(16, 4) +
         "-" + digest.substr(20, 12);
}

/// Loads a job's scaling policies; the newest version that wrote a policy has its indexes (R-REG-464).
void load_policies(JobRecord& record) {
  record.policies = scaling_policies_of(*record.current);
  for (ScalingPolicy& policy : record.policies) {
    if (policy.id.empty()) policy.id = id_of_names(*record.current, policy);
    for (const auto& version : record.versions)
      for (const ScalingPolicy& written : scaling_policies_of(*version))
        if (written.has_target_of(policy) && written.modify_index > policy.modify_index)
          policy.create_index = written.create_index, policy.modify_index = written.modify_index;
    if (policy.modify_index != 0) continue;
    policy.create_index = record.current->create_index, policy.modify_index = record.current->job_modify_index;
  }
}

/// ASCII only: other letters of job IDs are compared unchanged.
std::string folded_key(std::string_view name_space, std::string_view job_id) {
  std::string key(name_space);
  key += '\0';
  for (const char c : job_id) key += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return key;
}

}  // namespace

StateLog::StateLog(tables::StateStore& store, const model::Quirks& quirks, bool retains)
    : store_(store), quirks_(quirks) {
  if (retains) store.keep_history();
}

// ---------------------------------------------------------------- loading and reading

void StateLog::load(const model::ClusterState& state) {
  for (const auto& job : state.job_versions)
    record_of(store_.find_job_key(job->namespace_, job->id)).versions.push_back(job);
  for (const auto& job : state.jobs) {
    const JobKeyRow key = store_.find_job_key(job->namespace_, job->id);
    JobRecord& record = record_of(key);
    set_current(key, job);
    auto same = std::find_if(record.versions.begin(), record.versions.end(),
                             [&](const auto& version) { return version->version == job->version; });
    if (same != record.versions.end())
      *same = job;
    else
      record.versions.push_back(job);
  }
  for (JobKeyRow key = 0; key < records_.size(); ++key) {
    JobRecord& record = records_[key];
    if (record.current) load_policies(record);
    std::sort(record.versions.begin(), record.versions.end(),
              [](const auto& a, const auto& b) { return a->version > b->version; });
  }
  const tables::EvalTable& evals = store_.current().evals;
  for (StoredEvalRow row = 0; row < evals.size(); ++row)
    if (evals.exists(row)) record_of(evals.job_key[row]);
  last_index_ = std::max(last_index_, state.index);
}

void StateLog::set_summary(std::string_view name_space, std::string_view job_id, JobSummary summary) {
  record_of(store_.job_key(name_space, job_id)).summary = std::move(summary);
}

void StateLog::set_kept(std::string_view name_space, std::string_view job_id, Kept kept) {
  static_cast<Kept&>(record_of(store_.job_key(name_space, job_id))) = std::move(kept);
}

void StateLog::set_table_index(Table table, std::uint64_t index) {
  table_index_[static_cast<std::size_t>(table)] = index;
  if (table == Table::nodes || table == Table::allocs) {
    tables::Commit commit = store_.begin_commit();
    commit.set_table_index(table == Table::nodes, index);
  }
}

JobRecord& StateLog::new_record(JobKeyRow key) {
  if (key >= records_.size()) records_.resize(key + 1);
  JobRecord& record = records_[key];
  const tables::Snapshot& now = store_.current();
  const tables::JobKey& names = now.jobs.keys[key];
  auto& same = folded_[folded_key(now.text(names.job_namespace), now.text(names.job_id))];
  same.push_back(key);
  record.folded = &same;
  return record;
}

JobRecord* StateLog::find_record(std::string_view name_space, std::string_view job_id) {
  const JobKeyRow key = store_.find_job_key(name_space, job_id);
  return key == kNoRow ? nullptr : &record_of(key);
}

const JobRecord* StateLog::record(std::string_view name_space, std::string_view job_id) const {
  const JobKeyRow key = store_.find_job_key(name_space, job_id);
  return key < records_.size() ? &records_[key] : nullptr;
}

std::shared_ptr<const model::Job> StateLog::job(std::string_view name_space, std::string_view job_id) const {
  const JobKeyRow key = store_.find_job_key(name_space, job_id);
  return key < records_.size() ? records_[key].current : nullptr;
}

AllocRow StateLog::alloc_row(std::string_view id) { return store_.find_alloc(id); }

model::Allocation StateLog::stored_alloc(AllocRow row) const { return tables::to_alloc(store_.current(), row); }

std::vector<StoredEvalRow> StateLog::evals_of(JobKeyRow key) const {
  const tables::History& history = *store_.history();
  std::vector<StoredEvalRow> rows;
  for (StoredEvalRow row = history.jobs[key].eval_head; row != kNoRow; row = history.evals[row].next_of_job)
    rows.push_back(row);
  std::reverse(rows.begin(), rows.end());
  return rows;
}

std::optional<model::Allocation> StateLog::alloc(std::string_view id) {
  const AllocRow row = alloc_row(id);
  if (row == kNoRow) return std::nullopt;
  return stored_alloc(row);
}

std::shared_ptr<const model::Evaluation> StateLog::eval(std::string_view id) {
  const tables::StoredEvalRow row = store_.find_eval(id);
  return row == kNoRow ? nullptr : store_.current().eval(row);
}

std::shared_ptr<const model::Deployment> StateLog::deployment(std::string_view id) {
  const tables::DeploymentRow row = store_.find_deployment(id);
  return row == kNoRow ? nullptr : store_.current().deployments.object[row];
}

std::vector<AllocRow> StateLog::allocs_of(JobKeyRow key) const {
  const tables::Snapshot& now = store_.current();
  std::vector<AllocRow> rows;
  for (AllocRow row = now.jobs.keys[key].alloc_head; row != kNoRow; row = now.allocs.next_of_job[row])
    rows.push_back(row);
  std::sort(rows.begin(), rows.end(), [&](AllocRow a, AllocRow b) { return now.allocs.id[a] < now.allocs.id[b]; });
  return rows;
}

std::vector<model::Allocation> StateLog::allocs_of(std::string_view name_space, std::string_view job_id) const {
  std::vector<model::Allocation> out;
  const JobKeyRow key = store_.find_job_key(name_space, job_id);
  if (key == kNoRow) return out;
  for (const AllocRow row : allocs_of(key)) out.push_back(stored_alloc(row));
  return out;
}

std::shared_ptr<const model::Deployment> StateLog::latest_deployment(std::string_view name_space,
                                                                     std::string_view job_id) const {
  std::shared_ptr<const model::Deployment> latest;
  const JobKeyRow key = store_.find_job_key(name_space, job_id);
  if (key == kNoRow) return latest;
  const tables::DeploymentTable& deployments = store_.current().deployments;
  for (tables::DeploymentRow row = store_.current().jobs.keys[key].deployment_head; row != kNoRow;
       row = deployments.next_of_job[row]) {
    const auto& object = deployments.object[row];  // of equal indexes the oldest row
    if (object && (!latest || latest->create_index <= object->create_index)) latest = object;
  }
  return latest;
}

std::shared_ptr<const model::Job> StateLog::dispatched(const model::Job& parent, std::string_view token) const {
  for (JobKeyRow key = 0; key < records_.size(); ++key) {
    const JobRecord& record = records_[key];
    const auto& job = record.current;
    if (job && job->dispatched && job->namespace_ == parent.namespace_ && job->parent_id == parent.id &&
        *job->dispatch_idempotency_token == token)
      return job;
  }
  return nullptr;
}

model::ClusterState StateLog::state() const {
  model::ClusterState out = tables::to_cluster(store_.current());
  for (model::Node& node : out.nodes) show_life(store_.find_node(node.id), node);
  out.jobs.clear();
  out.job_versions.clear();
  for (JobKeyRow key = 0; key < records_.size(); ++key) {
    const JobRecord& record = records_[key];
    if (record.current) out.jobs.push_back(record.current);
    out.job_versions.insert(out.job_versions.end(), record.versions.begin(), record.versions.end());
  }
  const auto by_id = [](const auto& a, const auto& b) { return a.id < b.id; };
  const auto by_name = [](const auto& a, const auto& b) {
    return std::tie(a->namespace_, a->id) < std::tie(b->namespace_, b->id);
  };
  std::sort(out.nodes.begin(), out.nodes.end(), by_id);
  std::sort(out.allocs.begin(), out.allocs.end(), by_id);
  std::sort(out.deployments.begin(), out.deployments.end(), by_id);
  std::sort(out.evals.begin(), out.evals.end(), [](const auto& a, const auto& b) {
    return std::tie(a.create_index, a.id) < std::tie(b.create_index, b.id);
  });
  std::stable_sort(out.jobs.begin(), out.jobs.end(), by_name);
  std::stable_sort(out.job_versions.begin(), out.job_versions.end(), by_name);
  return out;
}

// ---------------------------------------------------------------- storing

void StateLog::notify(const Change& change) {
  if (change.kind == EntryKind::part || !entry_listener_) return;  // without a listener no rows are noted
  if (change.kind != EntryKind::silent) entry_listener_->entry_applied(change.kind, change.index, entry_rows_);
  entry_rows_.clear();
}

void StateLog::touch(Change& change, Table table) {
  std::uint64_t& last = table_index_[static_cast<std::size_t>(table)];
  last = std::max(last, change.index);
  if (table == Table::nodes || table == Table::allocs) change.commit.set_table_index(table == Table::nodes, last);
  change.commit.raise_index();
}

void StateLog::store_alloc(Change& change, AllocRow row, std::shared_ptr<const model::Allocation> alloc) {
  touch(change, Table::allocs);
  change.commit.rewrite_alloc(row, std::move(alloc));
  change.note(&EntryRows::allocs, row);
}

void StateLog::close_eval(Change& change, StoredEvalRow row, std::uint8_t status, std::string description) {
  touch(change, Table::evals);
  change.commit.close_eval(row, status, std::move(description));
  change.note(&EntryRows::evals, row);
}

/// Replaces the stored object of the job and that of its version (R-CTRL-720).
void StateLog::store_job_object(Change& change, JobKeyRow key, std::shared_ptr<const model::Job> job) {
  touch(change, Table::jobs);
  JobRecord& record = record_of(key);
  for (auto& version : record.versions)
    if (version->version == job->version) version = job;
  set_current(key, job);
  change.note(&EntryRows::jobs, key);
  // Last, because it forgets an object that has no users any more.
  change.commit.alias_job(job, store_.current().jobs.keys[key].current);
}

void StateLog::hold(StoredEvalRow eval, JobKeyRow key, bool more) {
  store_.hold_eval(eval, more);
  if (key >= holds_.size()) holds_.resize(key + 1);
  if (more)
    ++holds_[key];
  else
    --holds_[key];
}

void StateLog::release_keys(Change& change, Hooks& hooks) {
  std::erase_if(gone_, [&](JobKeyRow key) {
    JobRecord& record = records_[key];
    if (record.current) {  // registered again
      record.gone = false;
      return true;
    }
    if (key < holds_.size() && holds_[key] != 0) return false;
    const auto names = store_.current().jobs.keys[key];
    if (!change.commit.release_key(key)) return false;
    const auto same =
        folded_.find(folded_key(store_.current().text(names.job_namespace), store_.current().text(names.job_id)));
    std::erase(same->second, key);
    if (same->second.empty()) folded_.erase(same);
    record = {};
    hooks.push_back({.kind = HookKind::forget_job, .job = key});
    return true;
  });
}

/// Caches facts about the current object, so that they can be checked without reading it.
void StateLog::note_current(JobKeyRow key) {  // R-CTRL-1410
  if (key >= collectable_.size()) collectable_.resize(key + 1, kNeverCollectable);
  collectable_[key] = kNeverCollectable;
  records_[key].is_running = false;
  if (!records_[key].current) return;
  const model::Job& job = *records_[key].current;
  records_[key].is_running = job.status == "running" && !job.stop;
  const bool launches = (job.periodic && job.periodic->enabled) || model::is_parameterized(job);
  const bool short_lived = job.type == "batch" || job.type == "sysbatch";
  if (launches ? job.stop : job.status == "dead" && (job.stop || short_lived)) collectable_[key] = job.submit_time;
}

void StateLog::set_current(JobKeyRow key, std::shared_ptr<const model::Job> job) {
  JobRecord& record = records_[key];
  const auto name = [](const model::Job& of) { return std::make_pair(of.namespace_, of.id); };
  if (job && job->type == "system")
    system_jobs_[name(*job)] = job;
  else if (const auto& old = job ? job : record.current; old && !system_jobs_.empty())
    system_jobs_.erase(name(*old));
  record.current = std::move(job);
  note_current(key);
}

// ---------------------------------------------------------------- evaluations

void StateLog::queue_hook(StoredEvalRow row, Hooks& hooks) const {  // R-CTRL-202
  if (row == kNoRow) return;                                        // an ID that is not a UUID is not stored
  const tables::EvalTable& evals = store_.current().evals;
  const std::uint8_t status = evals.status[row];
  if (status == tables::kEvalPending)
    hooks.push_back({.kind = HookKind::enqueue, .eval = row});
  else if (status == tables::kEvalBlocked)
    hooks.push_back({.kind = HookKind::block, .eval = row});
  else if (status == tables::kEvalComplete && !evals.packed[row].failed_groups)
    hooks.push_back({.kind = HookKind::untrack, .job = evals.job_key[row]});
}

StoredEvalRow StateLog::upsert_eval(Change& change, model::Evaluation eval) {
  return upsert_eval(change, change.commit.packed(std::move(eval)));
}

StoredEvalRow StateLog::upsert_eval(Change& change, tables::EvalWrite&& eval) {  // R-CTRL-731
  touch(change, Table::evals);
  eval.create_index = eval.row != kNoRow ? store_.current().evals.create_index[eval.row] : change.index;
  eval.modify_index = change.index;
  if (store_.history()) {
    JobRecord& record = record_of(eval.job);
    count_queued(change, record, eval.contents);
    if (eval.status == tables::kEvalComplete && !eval.contents.packed.failed_groups) {
      // R-CTRL-733; with the quirk also of jobs whose IDs differ in case only (R-CTRL-105)
      if (!quirks_.cancelled_evals_linger || record.folded->size() == 1)
        cancel_blocked(change, eval.job, eval);
      else
        for (const JobKeyRow other : *record.folded) cancel_blocked(change, other, eval);
    }
  }
  if (eval.id.is_nil()) return kNoRow;
  const StoredEvalRow row = change.commit.write_eval(std::move(eval));
  change.note(&EntryRows::evals, row);
  return row;
}

/// R-CTRL-725.
void StateLog::count_queued(Change& change, JobRecord& record, const tables::EvalContents& eval) {
  if (!record.summary || !eval.packed.has_queued) return;
  bool changed = false;
  const auto count = [&](const std::string& name, std::int64_t queued) {
    GroupSummary* group = record.summary->groups.find(name);
    if (group == nullptr || (*group)[Bin::queued] == queued) return;
    (*group)[Bin::queued] = queued;
    changed = true;
  };
  if (eval.packed.queued_entry)
    count(store_.current().text(eval.packed.queued_group), eval.packed.queued);
  else if (eval.more && eval.more->queued_allocations)
    for (const auto& [name, queued] : *eval.more->queued_allocations) count(name, queued);
  if (!changed) return;
  record.summary->modify_index = change.index;
  touch(change, Table::job_summary);
}

void StateLog::cancel_blocked(Change& change, JobKeyRow key, const tables::EvalWrite& successful) {
  if (store_.history()->jobs[key].blocked_evals == 0) return;
  std::string id = base::to_text(successful.id);
  if (successful.contents.more)
    for (const auto& [member, text] : successful.contents.more->texts)
      if (member == &model::Evaluation::id) id = text;
  for (const StoredEvalRow row : evals_of(key)) {
    if (!store_.history()->evals[row].blocked) continue;
    close_eval(change, row, tables::kEvalCanceled, "evaluation \"" + id + "\" successful");
    change.commit.set_eval_modified(row, successful.contents.packed.modify_time);
  }
}

std::string StateLog::apply(std::uint64_t index, std::vector<model::Evaluation> evals, Hooks& hooks) {
  seen(index);
  if (evals.empty()) return "";
  tables::Commit commit = store_.begin_commit(index);
  Change change{commit, this, EntryKind::eval_update};
  std::vector<tables::EvalWrite> columns;
  for (model::Evaluation& eval : evals) columns.push_back(commit.packed(std::move(eval)));
  write_evals(change, columns, hooks);
  return "";
}

std::string StateLog::apply(std::uint64_t index, std::span<tables::EvalWrite> evals, Hooks& hooks) {
  seen(index);
  tables::Commit commit = store_.begin_commit(index);
  Change change{commit, this, EntryKind::eval_update};
  write_evals(change, evals, hooks);
  return "";
}

void StateLog::write_evals(Change& change, std::span<tables::EvalWrite> evals, Hooks& hooks) {
  written_evals_.clear();
  for (tables::EvalWrite& eval : evals) written_evals_.push_back(upsert_eval(change, std::move(eval)));
  for (std::size_t i = 0; i < evals.size(); ++i)  // R-CTRL-732: each job once
    if (std::none_of(evals.begin(), evals.begin() + static_cast<std::ptrdiff_t>(i),
                     [&](const tables::EvalWrite& before) { return before.job == evals[i].job; }))
      set_job_status(change, evals[i].job, "", false);
  for (const StoredEvalRow row : written_evals_) queue_hook(row, hooks);
}

// ---------------------------------------------------------------- job status

std::string_view StateLog::derive_status(JobKeyRow key, bool evals_deleted) const {  // R-CTRL-716
  const model::Job& job = *records_[key].current;
  const tables::History::Job& own = store_.history()->jobs[key];
  const bool lives = own.active_deployments != 0 || own.live_allocs != 0;
  if (lives && !job.stop) return "running";  // of any type
  const bool parent = job.parameterized_job && !job.dispatched;
  if (job.type == "system" || parent || job.periodic) return job.stop ? "dead" : "running";
  if (lives) return "running";
  if (own.open_evals != 0) return "pending";
  return own.evals != 0 || job.stop || evals_deleted ? "dead" : "pending";
}

void StateLog::set_job_status(Change& change, JobKeyRow key, std::string_view forced, bool evals_deleted) {
  if (key == kNoRow || !store_.history()) return;
  JobRecord& record = record_of(key);
  if (!record.current) return;
  // The most common case: a running job stays running, as derive_status() would return.
  if (const tables::History::Job& own = store_.history()->jobs[key];
      forced.empty() && record.is_running && (own.active_deployments != 0 || own.live_allocs != 0))
    return;
  const std::string_view status = forced.empty() ? derive_status(key, evals_deleted) : forced;
  if (record.current->status == status) return;
  auto job = std::make_shared<model::Job>(*record.current);
  count_child(change, *job, job->status, status);
  job->status = status;
  job->modify_index = change.index;
  store_job_object(change, key, std::move(job));
}

void StateLog::count_child(Change& change, const model::Job& child, std::string_view before, std::string_view after) {
  if (child.parent_id.empty()) return;
  JobRecord* parent = find_record(child.namespace_, *child.parent_id);
  if (!parent || !parent->summary || before == after) return;
  const auto bin = [&](std::string_view status) -> std::int64_t* {
    if (status == "pending") return &parent->summary->children_pending;
    if (status == "running") return &parent->summary->children_running;
    return status == "dead" ? &parent->summary->children_dead : nullptr;
  };
  if (std::int64_t* left = bin(before)) --*left;
  if (std::int64_t* entered = bin(after)) ++*entered;
  parent->summary->modify_index = change.index;
  touch(change, Table::job_summary);
}

}  // namespace berth::fsm
