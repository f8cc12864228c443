// Decides which allocations are kept, replaced now, or replaced later (R-RECON-112 to 117).
#pragma once

#include <string_view>

#include "model/quirks.h"
#include "reconcile/alloc_facts.h"

namespace berth::reconcile {

/// The verdict before times are considered (R-RECON-113, 114).
enum class Verdict : std::uint8_t { keep, drop, candidate };
[[nodiscard]] Verdict verdict_on(const AllocFacts& facts, bool is_batch);

/// Inputs of the test that are the same for the whole run.
struct RescheduleContext {
  std::int64_t now = 0;
  std::string_view eval_id;           ///< the evaluation being processed
  bool is_batch = false;              ///< run by the batch scheduler
  bool waits_for_deployment = false;  ///< the current deployment is the latest one, and it is active
  model::Quirks quirks;
};

struct RescheduleAnswer {
  enum class When : std::uint8_t { dropped, kept, now, later };  ///< `later` implies kept
  When when = When::kept;
  base::Time at;  ///< for `later`
};

/// Decides one allocation of RF(S, disconnecting) in all steps (R-RECON-112, 116).
[[nodiscard]] RescheduleAnswer judge_unusual(const AllocFacts& facts, const RescheduleContext& context,
                                             bool disconnecting);

/// The same decision; an allocation that runs undisturbed is kept without reading cold data.
[[nodiscard]] inline RescheduleAnswer judge_reschedule(const AllocFacts& facts, const RescheduleContext& context,
                                                       bool disconnecting) {
  if (!disconnecting && facts.is_calm()) return {};
  return judge_unusual(facts, context, disconnecting);
}

}  // namespace berth::reconcile
