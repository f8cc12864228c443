#include "reconcile/reschedule.h"

#include "model/predicates.h"

namespace berth::reconcile {
namespace {

using model::ClientStatus;
using model::DesiredStatus;
using When = RescheduleAnswer::When;

/// The window of R-RECON-65: due if at most this far ahead.
bool is_due(base::Time time, std::int64_t now) {
  return time.is_zero() || time.ns <= now ||
         static_cast<std::uint64_t>(time.ns) - static_cast<std::uint64_t>(now) <= base::kSecond;
}

}  // namespace

Verdict verdict_on(const AllocFacts& f, bool is_batch) {
  if (is_batch) {  // R-RECON-113
    if (f.wants(AllocFacts::kMigrateDisablePlacement)) return Verdict::keep;
    if (f.wants(AllocFacts::kReschedule)) return Verdict::candidate;
    if (f.desired == DesiredStatus::stop) {
      if (model::ran_successfully(*f.alloc)) return Verdict::keep;
      return model::last_reschedule_failed(*f.alloc) ? Verdict::candidate : Verdict::drop;
    }
    if (f.desired == DesiredStatus::evict) return Verdict::drop;
    return f.client == ClientStatus::failed ? Verdict::candidate : Verdict::keep;
  }
  if (f.server_terminal())  // R-RECON-114
    return model::last_reschedule_failed(*f.alloc) ? Verdict::candidate : Verdict::drop;
  if (f.client == ClientStatus::complete || f.client == ClientStatus::lost) return Verdict::drop;
  return Verdict::candidate;
}

RescheduleAnswer judge_unusual(const AllocFacts& f, const RescheduleContext& context, bool disconnecting) {
  if (disconnecting && f.client == ClientStatus::unknown) return {When::dropped, {}};
  if (f.has(AllocFacts::kHasNext) && f.terminal()) return {When::dropped, {}};
  const Verdict verdict = verdict_on(f, context.is_batch);
  if (verdict == Verdict::keep && !disconnecting) return {When::kept, {}};
  if (verdict == Verdict::drop) return {When::dropped, {}};

  // R-RECON-116.
  if (context.waits_for_deployment && f.has(AllocFacts::kOfDeployment) && !f.wants(AllocFacts::kReschedule))
    return {When::kept, {}};
  const bool force = f.wants(AllocFacts::kForceReschedule) && f.client_terminal();
  if (disconnecting && !model::replaces_on_disconnect(*f.alloc)) return {force ? When::now : When::kept, {}};
  const bool followup_is_this = f.alloc->followup_eval_id == context.eval_id;
  model::NextReschedule next;
  if (disconnecting)
    next = model::next_reschedule_by_time(*f.alloc, base::Time{context.now}, context.quirks);
  else if (f.client == ClientStatus::unknown && followup_is_this)
    next = model::next_reschedule_by_time(*f.alloc, model::last_unknown(*f.alloc), context.quirks);
  else
    next = model::next_reschedule(*f.alloc, context.quirks);
  if (next.eligible && (followup_is_this || is_due(next.at, context.now))) return {When::now, {}};
  if (force) return {When::now, {}};
  if (next.eligible && !f.has(AllocFacts::kHasFollowup)) return {When::later, next.at};
  return {When::kept, {}};
}

}  // namespace berth::reconcile
