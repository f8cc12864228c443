// Compares the history with one rebuilt from the tables.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tables/history.h"
#include "tables/state.h"

namespace berth::tables {

std::vector<std::string> StateStore::check_history() {
  std::vector<std::string> problems;
  if (!history_) return problems;
  std::unique_ptr<History> kept = std::move(history_);
  rebuild_history();
  const History &is = *kept, &should = *history_;
  const auto same = [&](const char* what, std::size_t row, std::uint64_t has, std::uint64_t wants) {
    if (has != wants)
      problems.push_back(fmt::format("history: {} of row {} is {} and should be {}", what, row, has, wants));
  };
  for (JobKeyRow key = 0; key < should.jobs.size(); ++key) {
    same("live_allocs", key, is.jobs[key].live_allocs, should.jobs[key].live_allocs);
    same("evals", key, is.jobs[key].evals, should.jobs[key].evals);
    same("open_evals", key, is.jobs[key].open_evals, should.jobs[key].open_evals);
    same("blocked_evals", key, is.jobs[key].blocked_evals, should.jobs[key].blocked_evals);
    same("active_deployments", key, is.jobs[key].active_deployments, should.jobs[key].active_deployments);
    same("versions", key, is.jobs[key].versions, should.jobs[key].versions);
    std::uint32_t evals = 0;
    for (StoredEvalRow row = is.jobs[key].eval_head; row != kNoRow; row = is.evals[row].next_of_job, ++evals)
      same("job of an evaluation", row, current_.evals.job_key[row], key);
    same("chained evaluations", key, evals, is.jobs[key].evals);
  }
  for (VersionRow row = 0; row < should.version_refs.size(); ++row)
    same("version_refs", row, is.version_refs[row] & ~kQueued, should.version_refs[row]);
  for (ShapeId row = 0; row < should.shape_refs.size(); ++row)
    same("shape_refs", row, is.shape_refs[row], should.shape_refs[row]);
  check_parts(is, should, problems);
  std::vector<std::uint32_t> of_evals(should.evals.size()), chained(should.evals.size());
  std::vector<std::uint32_t> of_deployments(should.deployment_refs.size());  // including removed ones
  for (AllocRow row = 0; row < should.allocs.size(); ++row) {
    same("links", row, is.allocs[row].links & ~kQueued, should.allocs[row].links);
    if (!current_.allocs.exists(row)) continue;
    same("prev_of_job", row, is.allocs[row].prev_of_job, should.allocs[row].prev_of_job);
    const DeploymentRow deployment = is.allocs[row].deployment;
    if (deployment != kNoRow) ++of_deployments[deployment];
    if (deployment == kNoRow || current_.deployments.object[deployment])
      same("deployment", row, deployment, should.allocs[row].deployment);
    if (const StoredEvalRow eval = current_.allocs.stamp[row].eval; eval != kNoRow) ++of_evals[eval];
  }
  for (DeploymentRow row = 0; row < of_deployments.size(); ++row)
    same("deployment_refs", row, is.deployment_refs[row] & ~kQueued, of_deployments[row]);
  for (StoredEvalRow eval = 0; eval < is.evals.size(); ++eval) {
    for (AllocRow row = is.evals[eval].alloc_head; row != kNoRow; row = is.allocs[row].next_of_eval, ++chained[eval])
      same("eval of an allocation", row, current_.allocs.stamp[row].eval, eval);
    same("ended_allocs", eval, is.evals[eval].ended_allocs, should.evals[eval].ended_allocs);
    same("chained allocations", eval, chained[eval], of_evals[eval]);
  }
  std::vector<char> seen(current_.allocs.size());
  for (const RowLists* lists : {&is.removed, &is.reported, &is.waiting, &is.free})
    for (const AllocRow row : lists->allocs) {
      if (seen[row]++) problems.push_back(fmt::format("history: alloc row {} is to be used again twice", row));
      if (lists == &is.free && (current_.allocs.exists(row) || is.allocs[row].links != 0))
        problems.push_back(fmt::format("history: alloc row {} is free and in use", row));
    }
  history_ = std::move(kept);
  return problems;
}

void StateStore::check_parts(const History& is, const History& should, std::vector<std::string>& problems) const {
  const auto same_refs = [&](const char* what, const std::vector<std::uint32_t>& has,
                             const std::vector<std::uint32_t>& wants, auto in_use) {
    for (std::size_t row = 0; row < has.size(); ++row) {
      if (const std::uint32_t want = row < wants.size() ? wants[row] : 0; has[row] != want)
        problems.push_back(fmt::format("history: {} of row {} is {} and should be {}", what, row, has[row], want));
      if (in_use(static_cast<std::uint32_t>(row)) != (has[row] != 0))
        problems.push_back(
            fmt::format("history: {} of row {} is {}, which does not fit its content", what, row, has[row]));
    }
    if (has.size() < wants.size()) problems.push_back(fmt::format("history: {} lacks rows", what));
  };
  same_refs("constraint_refs", is.constraint_refs, should.constraint_refs,
            [&](std::uint32_t row) { return current_.constraints[row] != nullptr; });
  same_refs("base_set_refs", is.base_set_refs, should.base_set_refs,
            [&](std::uint32_t row) { return current_.base_sets[row] != nullptr; });
  same_refs("checks_refs", is.checks_refs, should.checks_refs,
            [&](std::uint32_t row) { return shared_.checks.is_used(row); });
  same_refs("column_refs", is.column_refs, should.column_refs, [&](std::uint32_t row) {
    return is.column_refs[row] != 0 || (row >= kFirstKeyColumn && current_.nodes.column(row).codes.empty() &&
                                        !std::count(shared_.free_columns.begin(), shared_.free_columns.end(), row));
  });
}

}  // namespace berth::tables
