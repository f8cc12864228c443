#include "reconcile/reconnect.h"

#include "model/job.h"
#include "model/predicates.h"

namespace berth::reconcile {
namespace {

using base::Time;

const double* score_of(const model::Allocation& alloc) {
  return alloc.metrics && !alloc.metrics->score_meta_data.empty() ? &alloc.metrics->score_meta_data.front().norm_score
                                                                  : nullptr;
}

bool replacement_scores_better(const model::Allocation& original, const model::Allocation& replacement) {
  const double *theirs = score_of(replacement), *ours = score_of(original);
  const bool better = theirs && (!ours || *theirs > *ours);
  return better && (replacement.client_status == "running" || original.client_status != "running");
}

/// R-RECON-133: the time since which `alloc` runs, by the tasks of `group`; zero if unknown.
Time running_since(const model::Allocation& alloc, const model::TaskGroup* group, std::int64_t now) {
  Time earliest;
  if (!group) return earliest;
  for (const model::Task& task : group->tasks) {
    const Time start = model::last_start(alloc, task.name);
    if (task.leader) return start;
    if (!start.is_zero() && start < Time{now} && (earliest.is_zero() || start < earliest)) earliest = start;
  }
  return earliest;
}

}  // namespace

bool prefers_replacement(const model::Allocation& original, const model::Allocation& replacement,
                         std::string_view strategy, std::int64_t now) {
  if (original.job && replacement.job &&
      (replacement.job->version > original.job->version || replacement.job->create_index > original.job->create_index))
    return true;
  if (strategy == "keep_original") return false;
  if (strategy == "keep_replacement") return true;
  if (strategy == "longest_running") {
    const auto group_in_originals_job = [&](const model::Allocation& alloc) {
      return original.job ? original.job->group(alloc.task_group) : nullptr;
    };
    const Time ours = running_since(original, group_in_originals_job(original), now);
    const Time theirs = running_since(replacement, group_in_originals_job(replacement), now);
    if (ours.is_zero() != theirs.is_zero()) return ours.is_zero();
    if (!ours.is_zero()) return !(ours < theirs);
  }
  return replacement_scores_better(original, replacement);
}

}  // namespace berth::reconcile
