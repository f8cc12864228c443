// An attempt that fails as the one before it did (R-CTRL-801 ff.): a blocked evaluation is tried again whenever there
// may be room for it, and mostly there is none.
//
// An attempt that planned nothing after one placement, which failed, depends on the job, its allocations and
// deployments, their nodes, the cluster's settings, and on whether any node has room, eviction included where it is
// allowed. As long as the first ones are what they were (JobKey::changes, RowLog of the nodes, pointers to what is
// immutable) and nothing gets due with time, the memo of the last Select (source/failure_memos.h) answers for all of
// it: what changed since is looked at, nothing is reconciled.
#include "model/predicates.h"
#include "sched/generic.h"

namespace berth::sched {

using reconcile::AllocFacts;
using tables::kNoRow;

/// Tries what was kept; then the result is that of the attempt.
bool GenericScheduler::fails_again() {
  if (!job_ || job_->groups.size() != 1 || !eval_->blocked || eval_->annotate ||
      !sources_.has(Switch::failed_attempt) || !eval_->wait_until.is_zero())
    return false;
  const RetryMemo* const kept = scratch_.failures.retry_of(job_->spec.get());
  if (!kept || !scratch_.passed_over.empty()) return false;
  const RetryMemo& before = *kept;
  FailureMemo* const memo = scratch_.failures.of_retry(before);
  const tables::NodeTable& nodes = state_->nodes;
  if (!memo || before.job_changes != state_->jobs.keys[eval_->job].changes ||
      before.object != state_->jobs.objects[eval_->job] || before.surroundings != state_->cold ||
      !before.ready.is_at(nodes) || before.epoch != nodes.epoch || before.kinds_left != nodes.kinds_left ||
      !stack_.fails_again(*memo, *job_))
    return false;
  EvalResult& result = *result_;
  result.groups = before.groups;
  const std::int32_t coalesced = result.groups[before.failed].failure.coalesced;
  plan::SelectMetrics& failure = result.groups[before.failed].failure;
  failure = {};
  stack_.take_metrics(failure);
  failure.coalesced = coalesced;
  result.eligibility = before.eligibility;
  result.deployment_id = before.deployment;
  result.plan.deployment_ids.front() = before.deployment;
  result.port_collision_events += stack_.port_collision_events();
  return true;
}

/// Keeps what the attempt came to that planned nothing, if that is all there is to say of it.
void GenericScheduler::keep_failure() {
  const EvalResult& result = *result_;
  const FailureMemo* const memo = stack_.only_failure();
  if (!memo || !job_ || !result.plan.followups.empty() || !written_followups_.empty() || !eval_->wait_until.is_zero() ||
      !result.plan.stops.empty() || !result.deployment_groups.empty() || !scratch_.passed_over.empty() ||
      !sources_.has(Switch::failed_attempt) || !nothing_gets_due())
    return;
  std::size_t failed = 0, failures = 0;
  for (std::size_t g = 0; g < result.groups.size(); ++g)
    if (result.groups[g].failed) failed = g, ++failures;
  if (failures != 1) return;
  RetryMemo& kept = scratch_.failures.add_retry(job_->spec, *memo);
  kept.job_changes = state_->jobs.keys[eval_->job].changes;
  kept.object = state_->jobs.objects[eval_->job];
  kept.surroundings = state_->cold;
  kept.ready.move_to(state_->nodes);
  kept.epoch = state_->nodes.epoch, kept.kinds_left = state_->nodes.kinds_left;
  kept.groups = result.groups;
  kept.failed = failed;
  kept.eligibility = result.eligibility;
  kept.deployment = result.deployment_id;
}

/// Whether the job's allocations are such that the reconciler answers the same at any time, as long as neither they nor
/// their nodes change.
bool GenericScheduler::nothing_gets_due() const {
  if (was_new_) return true;
  for (const AllocFacts& facts : allocs_.facts()) {
    if (facts.taint != reconcile::NodeTaint::none || facts.transition != 0 || facts.has(AllocFacts::kHasStates))
      return false;
    const bool ended = facts.desired == model::DesiredStatus::run && facts.client == model::ClientStatus::complete;
    if (!facts.is_calm() && !ended && !facts.server_terminal()) return false;  // those are ignored (R-RECON-106)
  }
  return true;
}

}  // namespace berth::sched
