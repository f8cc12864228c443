#include "tables/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "base/assert.h"
#include "model/job.h"
#include "tables/commit.h"
#include "tables/export.h"

namespace berth::tables {
namespace {

template <class Row>
void append(std::vector<Row>& to, std::vector<Row>& from) {
  to.insert(to.end(), from.begin(), from.end());
  from.clear();
}

void count(std::uint32_t& of, bool before, bool after) {
  BERTH_ASSERT(after || !before || of > 0);
  of += static_cast<std::uint32_t>(after) - before;
}

/// Removes one of the references that `refs` counts; kQueued stays.
void drop_ref(std::uint32_t& refs) {
  BERTH_ASSERT((refs & ~kQueued) != 0);
  --refs;
}

}  // namespace

void RowLists::take(RowLists& other) {
  append(allocs, other.allocs), append(evals, other.evals), append(deployments, other.deployments);
  append(versions, other.versions), append(keys, other.keys), append(nodes, other.nodes);
}

// ---------------------------------------------------------------- built from the tables

void StateStore::keep_history() {
  if (history_) return;
  rebuild_history();
}

void StateStore::rebuild_history() {
  history_ = std::make_unique<History>();
  if (!current_.hold) current_.hold = std::make_shared<const int>(0);
  History& h = *history_;
  const AllocTable& a = current_.allocs;
  h.jobs.resize(current_.jobs.keys.size());
  h.evals.resize(current_.evals.size());
  h.allocs.resize(a.size());
  current_.allocs.stamp.resize(a.size());
  h.deployment_refs.resize(current_.deployments.size());
  h.version_refs.resize(current_.jobs.versions.size());
  h.shape_refs.resize(a.shapes.size());
  for (VersionRow row = 0; row < current_.jobs.versions.size(); ++row)
    if (const auto& version = current_.jobs.versions[row]) count_parts(*version, true), ++h.jobs[version->key].versions;
  for (StoredEvalRow row = 0; row < current_.evals.size(); ++row)
    if (current_.evals.exists(row)) link_eval(row);
  for (DeploymentRow row = 0; row < current_.deployments.size(); ++row)
    if (current_.deployments.active[row]) ++h.jobs[current_.deployments.job_key[row]].active_deployments;
  for (JobKeyRow key = 0; key < current_.jobs.keys.size(); ++key) {
    AllocRow newer = kNoRow;
    for (AllocRow row = current_.jobs.keys[key].alloc_head; row != kNoRow; newer = row, row = a.next_of_job[row])
      h.allocs[row].prev_of_job = newer;
  }
  for (AllocRow row = 0; row < a.size(); ++row) {
    if (!a.exists(row)) continue;
    const auto& cold = a.cold[row];
    const StoredEvalRow eval = cold ? find_eval(cold->eval_id) : a.stamp[row].eval;
    AllocStamp& stamp = current_.allocs.stamp.edit(row);
    stamp.eval = kNoRow;
    if (cold) stamp.modify_time = cold->modify_time, stamp.create_time = cold->create_time;
    move_refs(row, {}, eval, cold ? find_deployment(cold->deployment_id) : a.links[row].deployment);
  }
}

// ---------------------------------------------------------------- references of a row

StateStore::AllocRefs StateStore::refs_of(AllocRow row) const {
  AllocRefs out;
  const AllocTable& a = current_.allocs;
  if (!history_ || !a.exists(row)) return out;
  out.version = a.job[row], out.shape = a.shape[row];
  if (!a.cold[row]) out.links = {a.relations[row].previous, a.relations[row].next, a.relations[row].preempted_by};
  out.eval = a.stamp[row].eval, out.deployment = history_->allocs[row].deployment;
  out.key = a.job_key[row];
  out.live = !a.terminal(row);
  return out;
}

/// Moves the row's counted references from `before` to what its columns name now, and to `eval` and `deployment`. New
/// references are added first, so that an object that stays referenced is not released in between.
void StateStore::move_refs(AllocRow row, const AllocRefs& before, StoredEvalRow eval, DeploymentRow deployment) {
  if (!history_) return;
  History& h = *history_;
  if (before.eval != kNoRow && current_.allocs.exists(row))
    count_ended(before.eval, !before.live, current_.allocs.terminal(row));
  set_alloc_eval(row, eval);
  h.allocs[row].deployment = deployment;
  const AllocRefs after = refs_of(row);
  if (after.version != kNoRow) ++h.version_refs[after.version];
  if (after.shape != kNoRow) ++h.shape_refs[after.shape];
  for (const AllocRow other : after.links)
    if (other != kNoRow) ++h.allocs[other].links;
  if (after.deployment != kNoRow) ++h.deployment_refs[after.deployment];
  if (after.key != kNoRow) h.jobs[after.key].live_allocs += after.live;
  BERTH_ASSERT(before.key == kNoRow || h.jobs[before.key].live_allocs >= std::uint32_t{before.live});
  if (before.key != kNoRow) h.jobs[before.key].live_allocs -= before.live;
  if (before.version != kNoRow) drop_ref(h.version_refs[before.version]), give_up_version(before.version);
  if (before.shape != kNoRow) drop_shape(before.shape);
  for (const AllocRow other : before.links)
    if (other != kNoRow) drop_ref(h.allocs[other].links), give_up_alloc(other);
  if (before.deployment != kNoRow)
    drop_ref(h.deployment_refs[before.deployment]), give_up_deployment(before.deployment);
}

void StateStore::set_alloc_eval(AllocRow row, StoredEvalRow eval) {
  History& h = *history_;
  History::Alloc& alloc = h.allocs[row];
  const StoredEvalRow before = current_.allocs.stamp[row].eval;
  if (before == eval) return;
  const bool ended = current_.allocs.terminal(row);  // the columns of a removed row keep that
  if (before != kNoRow) {
    count_ended(before, ended, false);
    BERTH_ASSERT(alloc.prev_of_eval != kNoRow || h.evals[before].alloc_head == row);
    if (alloc.next_of_eval != kNoRow) h.allocs[alloc.next_of_eval].prev_of_eval = alloc.prev_of_eval;
    (alloc.prev_of_eval != kNoRow ? h.allocs[alloc.prev_of_eval].next_of_eval : h.evals[before].alloc_head) =
        alloc.next_of_eval;
  }
  current_.allocs.stamp.edit(row).eval = eval;
  alloc.next_of_eval = alloc.prev_of_eval = kNoRow;
  if (eval == kNoRow) return;
  count_ended(eval, false, ended);
  AllocRow& head = h.evals[eval].alloc_head;
  alloc.next_of_eval = head;
  if (head != kNoRow) h.allocs[head].prev_of_eval = row;
  head = row;
}

void StateStore::count_ended(StoredEvalRow eval, bool before, bool after) {
  count(history_->evals[eval].ended_allocs, before, after);
}

void StateStore::link_eval(StoredEvalRow row) {
  History& h = *history_;
  History::Eval& eval = h.evals[row];
  History::Job& job = h.jobs[current_.evals.job_key[row]];
  BERTH_ASSERT(job.eval_head != row);  // a list that led back to itself would never end
  eval.next_of_job = job.eval_head;
  eval.prev_of_job = kNoRow;
  if (job.eval_head != kNoRow) h.evals[job.eval_head].prev_of_job = row;
  job.eval_head = row;
  ++job.evals;
  read_eval(row);
}

/// Copies the columns that garbage collection reads; call after link_eval() and after every write.
void StateStore::read_eval(StoredEvalRow row) {
  History::Eval& eval = history_->evals[row];
  const EvalTable& e = current_.evals;
  const bool open = is_open(e.status[row]);
  const bool blocked = e.status[row] == kEvalBlocked;
  History::Job& job = history_->jobs[current_.evals.job_key[row]];
  count(job.open_evals, eval.open, open);
  count(job.blocked_evals, eval.blocked, blocked);
  eval.open = open, eval.blocked = blocked;
  eval.batch = e.packed[row].type == kEvalBatch;
  eval.modify_time = e.packed[row].modify_time;
}

void StateStore::unlink_eval(StoredEvalRow row) {
  History& h = *history_;
  History::Eval& eval = h.evals[row];
  History::Job& job = h.jobs[current_.evals.job_key[row]];
  if (eval.next_of_job != kNoRow) h.evals[eval.next_of_job].prev_of_job = eval.prev_of_job;
  (eval.prev_of_job != kNoRow ? h.evals[eval.prev_of_job].next_of_job : job.eval_head) = eval.next_of_job;
  BERTH_ASSERT(job.evals > 0 && job.open_evals >= std::uint32_t{eval.open});
  --job.evals;
  job.open_evals -= eval.open, job.blocked_evals -= eval.blocked;
  while (eval.alloc_head != kNoRow) set_alloc_eval(eval.alloc_head, kNoRow);
  const bool held = eval.held;
  eval = {};
  eval.held = held;
}

void StateStore::hold_eval(StoredEvalRow row, bool on) {
  if (!history_) return;
  history_->evals[row].held = on;
  if (!on && !current_.evals.exists(row)) removed_rows().evals.push_back(row);
}

void StateStore::count_parts(const CompiledJob& job, bool more) {
  count_shapes(job, more);
  History& h = *history_;
  // True if no user is left.
  const auto count_use_of = [more](std::vector<std::uint32_t>& refs, std::uint32_t id) {
    if (refs.size() <= id) refs.resize(id + 1, 0);
    if (more) return ++refs[id], false;
    drop_ref(refs[id]);
    return refs[id] == 0;
  };
  const auto column = [&](ColumnId id) {
    if (id != kNoColumn && count_use_of(h.column_refs, id)) drop_column(id);
  };
  const auto constraint = [&](ConstraintId id) {
    column(current_.constraints[id]->left), column(current_.constraints[id]->right);
    if (count_use_of(h.constraint_refs, id)) drop_constraint(id);
  };
  const auto targets = [&](const auto& list) {
    for (const auto& one : list) column(one.target.column);
  };
  for (const ConstraintId id : job.constraints) constraint(id);
  targets(job.spreads), targets(job.distinct_properties);
  for (const CompiledGroup& group : job.groups) {
    for (const ConstraintId id : group.constraints) constraint(id);
    for (const CompiledAffinity& affinity : group.affinities) constraint(affinity.constraint);
    targets(group.spreads), targets(group.distinct_properties);
    if (group.checks != kNoRow && count_use_of(h.checks_refs, group.checks)) shared_.checks.release(group.checks);
  }
  if (job.gang) column(job.gang->target.column);
  if (count_use_of(h.base_set_refs, job.base_set)) {
    shared_.base_sets.release(job.base_set);
    current_.base_sets.edit(job.base_set) = nullptr;
  }
}

void StateStore::drop_constraint(ConstraintId id) {
  shared_.constraints.release(id);
  current_.constraints.edit(id) = nullptr;
}

void StateStore::count_shapes(const CompiledJob& job, bool more) {
  for (const CompiledGroup& group : job.groups)
    for (const ShapeId shape : {group.shape_id, group.shape_oversubscribed_id}) {
      if (more)
        ++history_->shape_refs[shape];
      else
        drop_shape(shape);
    }
}

void StateStore::drop_shape(ShapeId shape) {
  drop_ref(history_->shape_refs[shape]);
  if (history_->shape_refs[shape] != 0) return;
  shape_ids_.erase(current_.allocs.shapes[shape].get());
  current_.allocs.shapes.edit(shape) = nullptr;
  history_->free_shapes.push_back(shape);
}

// ---------------------------------------------------------------- reuse of rows

RowLists& StateStore::removed_rows() {
  History& h = *history_;
  const std::uint64_t round = changes_ ? changes_->rounds : 0;
  if (round != h.removed_round) h.reported.take(h.removed);
  h.removed_round = round;
  return h.removed;
}

void StateStore::prefetch_removal(AllocRow row) const {
  const AllocTable& a = current_.allocs;
  const History::Alloc& own = history_->allocs[row];
  alloc_rows_.ask_for(row);
  if (a.node[row] != kNoRow) current_.nodes.use.prefetch(a.node[row]);
  if (const AllocRow next = a.next_on_node[row]; next != kNoRow) base::prefetch(&writer_.prev_on_node[next]);
  if (const AllocRow prev = writer_.prev_on_node[row]; prev != kNoRow) a.next_on_node.prefetch(prev);
  if (own.next_of_eval != kNoRow) base::prefetch(&history_->allocs[own.next_of_eval]);
  if (own.prev_of_eval != kNoRow) base::prefetch(&history_->allocs[own.prev_of_eval]);
}

void StateStore::give_up_alloc(AllocRow row) {
  std::uint32_t& refs = history_->allocs[row].links;
  if (refs != 0 || current_.allocs.exists(row)) return;
  refs |= kQueued;
  removed_rows().allocs.push_back(row);
}

void StateStore::give_up_deployment(DeploymentRow row) {
  BERTH_ASSERT(row < history_->deployment_refs.size());
  std::uint32_t& refs = history_->deployment_refs[row];
  if (refs != 0 || current_.deployments.object[row]) return;
  refs |= kQueued;
  removed_rows().deployments.push_back(row);
}

bool StateStore::needs_version(VersionRow row) const {
  const JobTable& jobs = current_.jobs;
  return jobs.stored[row] != 0 || jobs.keys[jobs.versions[row]->key].current == row;
}

void StateStore::give_up_version(VersionRow row) {
  if (!history_) return;
  std::uint32_t& refs = history_->version_refs[row];
  if (refs != 0 || needs_version(row)) return;
  refs |= kQueued;
  removed_rows().versions.push_back(row);
}

/// Advances rows whose conditions for reuse are met. Called under a commit with changes.
void StateStore::settle() {
  History& h = *history_;
  if (!h.waiting.empty() && h.holders.expired()) free_waiting();
  if (collect_waiting()) free_waiting();
}

/// Starts the wait for snapshots and holds; true if none are left.
bool StateStore::collect_waiting() {
  History& h = *history_;
  if (!h.removed.empty() && (!changes_ || changes_->rounds > h.removed_round)) h.reported.take(h.removed);
  if (!h.waiting.empty() || h.reported.empty()) return false;
  h.waiting.take(h.reported);
  h.holders = current_.hold;
  current_.hold = std::make_shared<const int>(0);
  return h.holders.expired();
}

void StateStore::destroy_removed() {
  if (!history_ || (history_->removed.versions.empty() && history_->reported.versions.empty())) return;
  const std::lock_guard lock(mutex_);
  published_.reset();
  if (collect_waiting()) drop_versions();
}

/// Destroys the objects of waiting versions, which can no longer be found.
void StateStore::drop_versions() {
  History& h = *history_;
  if (std::exchange(h.dropped, true)) return;
  std::erase_if(h.waiting.versions, [&](VersionRow row) {
    h.version_refs[row] &= ~kQueued;
    return h.version_refs[row] != 0 || needs_version(row);
  });
  std::vector<JobKeyRow> keys;
  for (const VersionRow row : h.waiting.versions) {
    const CompiledJob& version = *current_.jobs.versions[row];
    count_parts(version, false);
    drop_ref(h.jobs[version.key].versions);
    job_rows_.erase(version.spec.get());
    if (const auto known = group_lists_.find(version.spec->task_groups.list().data());
        known != group_lists_.end() && known->second == row)
      group_lists_.erase(known);
    if (const auto known = job_aliases_.find(row); known != job_aliases_.end()) {
      for (const auto& alias : known->second) job_rows_.erase(alias.get());
      job_aliases_.erase(known);
    }
    keys.push_back(version.key);
    current_.jobs.versions.edit(row) = nullptr;
  }
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  for (const JobKeyRow key : keys) unlink_versions(key);
}

/// Takes removed versions out of the chain of their job. Cost: the chain.
void StateStore::unlink_versions(JobKeyRow key) {
  JobVersions& jobs = current_.jobs;
  VersionRow newer = kNoRow;
  for (VersionRow row = jobs.newest[key]; row != kNoRow; row = jobs.older[row]) {
    if (!jobs.versions[row]) continue;
    if (newer == kNoRow && jobs.newest[key] != row) jobs.newest.edit(key) = row;
    if (newer != kNoRow && jobs.older[newer] != row) jobs.older.edit(newer) = row;
    newer = row;
  }
  if (newer == kNoRow)
    jobs.newest.edit(key) = kNoRow;
  else if (jobs.older[newer] != kNoRow)
    jobs.older.edit(newer) = kNoRow;
}

void StateStore::free_waiting() {
  History& h = *history_;
  const auto still = [](std::uint32_t& refs, bool used) {
    refs &= ~kQueued;
    return refs != 0 || used;
  };
  std::erase_if(h.waiting.allocs,
                [&](AllocRow row) { return still(h.allocs[row].links, current_.allocs.exists(row)); });
  std::erase_if(h.waiting.deployments, [&](DeploymentRow row) { return still(h.deployment_refs[row], false); });
  drop_versions();
  h.dropped = false;
  for (const NodeRow row : h.waiting.nodes) drop_node(row);
  h.waiting.nodes.clear();
  for (const JobKeyRow row : h.waiting.keys) symbols_.release(std::exchange(h.jobs[row].released, kEmptySymbol));
  // The lowest rows are reused first, so that they are adjacent: a plan's allocations share cache lines of every
  // column, as in a table that only grows.
  std::vector<AllocRow>& allocs = h.free.allocs;
  const auto known = static_cast<std::ptrdiff_t>(allocs.size());
  h.free.take(h.waiting);
  std::sort(allocs.begin() + known, allocs.end(), std::greater<>());
  std::inplace_merge(allocs.begin(), allocs.begin() + known, allocs.end(), std::greater<>());
}

bool StateStore::release_key(JobKeyRow row) {
  const JobKey key = current_.jobs.keys[row];
  const History::Job& job = history_->jobs[row];
  if (key.current != kNoRow || key.alloc_head != kNoRow || key.deployment_head != kNoRow || job.eval_head != kNoRow ||
      job.versions != 0)
    return false;
  // Without objects nothing is counted: a count that stayed would be that of the row's next job.
  BERTH_ASSERT(job.live_allocs == 0 && job.evals == 0 && job.open_evals == 0 && job.active_deployments == 0);
  JobKeyRow before = row;
  while (current_.jobs.keys[before].next_same_id != row) before = current_.jobs.keys[before].next_same_id;
  if (before == row) {
    same_id_.erase(key.job_id);
  } else {
    edit_key(before).next_same_id = key.next_same_id;
    same_id_[key.job_id] = key.next_same_id;
  }
  job_keys_.erase(key_pair(key.job_namespace, key.job_id));
  JobKey none;
  none.next_same_id = row;
  none.changes = key.changes + 1;
  edit_key(row) = none;
  history_->jobs[row].released = key.job_id;
  removed_rows().keys.push_back(row);
  return true;
}

}  // namespace berth::tables
