// Which allocations are kept, replaced now, or replaced later (R-RECON-112 to 117).
#pragma once

#include <string_view>

#include "model/quirks.h"
#include "reconcile/alloc_facts.h"

namespace berth::reconcile {

/// The verdict before times are looked at (R-RECON-113, 114).
enum class Verdict : std::uint8_t { keep, drop, candidate };
[[nodiscard]] Verdict verdict_on(const AllocFacts& facts, bool is_batch);

/// What the run as a whole brings to the test.
struct RescheduleContext {
  std::int64_t now = 0;
  std::string_view eval_id;           ///< of the evaluation being processed
  bool is_batch = false;              ///< run by the batch scheduler
  bool waits_for_deployment = false;  ///< the current deployment is the latest one, and it is active
  model::Quirks quirks;
};

struct RescheduleAnswer {
  enum class When : std::uint8_t { dropped, kept, now, later };  ///< `later` is kept as well
  When when = When::kept;
  base::Time at;  ///< for `later`
};

/// One allocation of RF(S, disconnecting) (R-RECON-112, 116), all steps.
[[nodiscard]] RescheduleAnswer judge_unusual(const AllocFacts& facts, const RescheduleContext& context,
                                             bool disconnecting);

/// Likewise; an allocation that runs undisturbed is kept without reading anything cold.
[[nodiscard]] inline RescheduleAnswer judge_reschedule(const AllocFacts& facts, const RescheduleContext& context,
                                                       bool disconnecting) {
  if (!disconnecting && facts.is_calm()) return {};
  return judge_unusual(facts, context, disconnecting);
}

}  // namespace berth::reconcile
