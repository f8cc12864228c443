// Deletions by garbage collection (R-CTRL-734, 742).
#include <algorithm>

#include "fsm/change.h"
#include "fsm/csi_claims.h"

namespace berth::fsm {

using tables::DeploymentRow;
using tables::JobKeyRow;
using tables::kNoRow;
using tables::StoredEvalRow;

/// Prefetches the rows of an allocation that will be removed soon.
void StateLog::ask_for(tables::AllocRow row) const {
  tables::prefetch_rows(store_, row, kNoRow);
  store_.current().allocs.next_of_job.prefetch(row);
  base::prefetch(&store_.history()->allocs[row]);
}

std::string StateLog::apply(std::uint64_t index, const EvalDeleteEntry& entry, Hooks& hooks) {
  seen(index);
  tables::Commit commit = store_.begin_commit(index);
  Change change{commit, this, EntryKind::silent};
  std::vector<JobKeyRow> jobs;
  // Allocations first: removing an evaluation makes an API object of each allocation that still refers to it.
  constexpr std::size_t kAhead = 6;
  const std::size_t count = entry.allocs.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (i + 2 * kAhead < count) ask_for(entry.allocs[i + 2 * kAhead]);
    if (i + kAhead < count) store_.prefetch_removal(entry.allocs[i + kAhead]);
    release_csi_claims(change.commit, entry.allocs[i]);
    change.commit.remove_alloc(entry.allocs[i]);
  }
  for (const StoredEvalRow row : entry.evals) {
    if (!store_.current().evals.exists(row)) continue;  // listed twice
    const JobKeyRow key = store_.current().evals.job_key[row];
    change.commit.remove_eval(row);
    if (jobs.empty() || jobs.back() != key) jobs.push_back(key);
  }
  if (!entry.evals.empty()) touch(change, Table::evals);
  if (!entry.allocs.empty()) touch(change, Table::allocs);
  std::sort(jobs.begin(), jobs.end());
  jobs.erase(std::unique(jobs.begin(), jobs.end()), jobs.end());
  for (const JobKeyRow key : jobs) set_job_status(change, key, "", true);
  release_keys(change, hooks);
  return "";
}

std::string StateLog::apply(std::uint64_t index, const DeploymentDeleteEntry& entry, Hooks&) {
  seen(index);
  tables::Commit commit = store_.begin_commit(index);
  Change change{commit, this, EntryKind::silent};
  for (const std::string& id : entry.deployments) {
    const DeploymentRow row = store_.find_deployment(id);
    if (row != kNoRow) change.commit.remove_deployment(row);
  }
  touch(change, Table::deployment);
  return "";
}

std::string StateLog::apply(std::uint64_t index, const JobBatchDeregisterEntry& entry, Hooks& hooks) {
  seen(index);
  tables::Commit commit = store_.begin_commit(index);
  Change change{commit, this, EntryKind::job_batch_deregister};
  for (const auto& [name_space, id] : entry.jobs)
    if (const auto stored = job(name_space, id)) purge_job(change, stored, hooks);
  release_keys(change, hooks);
  return "";
}

}  // namespace berth::fsm
