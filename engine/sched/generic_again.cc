// Repeats a failed attempt from its memo (R-CTRL-801 ff.). A blocked evaluation is retried whenever there may be room
// for it, and usually there is none.
//
// An attempt that planned nothing after one failed placement depends on the job, its allocations and deployments, their
// nodes, the cluster's settings, and on whether any node has room, with eviction if allowed. All but the last are
// compared by JobKey::changes, by the RowLog of the nodes and by pointers to immutable objects. If they are unchanged
// and nothing depends on time, the table of the last Select's request (source/ask_table.h) answers: only changed nodes
// are examined, and nothing is reconciled.
#include "model/predicates.h"
#include "sched/generic.h"

namespace berth::sched {

using reconcile::AllocFacts;
using tables::kNoRow;

/// True if the stored failure still holds; then the result is that of the attempt.
bool GenericScheduler::fails_again() {
  if (!job_ || job_->groups.size() != 1 || !given_.eval->blocked || given_.eval->annotate ||
      !settings_.sources.has(Switch::failed_attempt) || !given_.eval->wait_until.is_zero())
    return false;
  const RetryMemo* const kept = scratch_.by_state.retries.find(*job_);
  if (!kept || !scratch_.passed_over.empty()) return false;
  const RetryMemo& before = *kept;
  const tables::NodeTable& nodes = given_.state->nodes;
  if (before.job_changes != given_.state->jobs.keys[given_.eval->job].changes ||
      before.object != given_.state->jobs.objects[given_.eval->job] || before.surroundings != given_.state->cold ||
      !before.ready.is_at(nodes) || before.epoch != nodes.epoch || before.kinds_left != nodes.kinds_left ||
      !stack_.fails_again(before.table, *job_))
    return false;
  EvalResult& result = *given_.result;
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

/// Stores the outcome of an attempt that planned nothing, if it is nothing but one failed placement.
void GenericScheduler::keep_failure() {
  const EvalResult& result = *given_.result;
  const AskTable* const table = stack_.only_failure();
  if (!table || !job_ || !result.plan.followups.empty() || !written_followups_.empty() ||
      !given_.eval->wait_until.is_zero() || !result.plan.stops.empty() || !result.deployment_groups.empty() ||
      !scratch_.passed_over.empty() || !settings_.sources.has(Switch::failed_attempt) || !nothing_gets_due())
    return;
  std::size_t failed = 0, failures = 0;
  for (std::size_t g = 0; g < result.groups.size(); ++g)
    if (result.groups[g].failed) failed = g, ++failures;
  if (failures != 1) return;
  RetryMemo& kept = scratch_.by_state.retries.add(*job_);
  kept.table = table->key;
  kept.job_changes = given_.state->jobs.keys[given_.eval->job].changes;
  kept.object = given_.state->jobs.objects[given_.eval->job];
  kept.surroundings = given_.state->cold;
  kept.ready.move_to(given_.state->nodes);
  kept.epoch = given_.state->nodes.epoch, kept.kinds_left = given_.state->nodes.kinds_left;
  kept.groups = result.groups;
  kept.failed = failed;
  kept.eligibility = result.eligibility;
  kept.deployment = result.deployment_id;
}

/// True if the reconciler's answer does not depend on time, as long as the job's allocations and their nodes do not
/// change.
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
