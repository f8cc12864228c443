// Building a plan and judging its result (R-MODEL-191 to 199).
#pragma once

#include <cstdint>
#include <string_view>

#include "model/eval.h"
#include "model/quirks.h"

namespace berth::model {

/// Stages a stop of `alloc` (R-MODEL-191). `client_status` and `followup_eval_id` may be empty. `now` in ns.
void append_stopped(Plan& plan, const Allocation& alloc, std::string_view description, std::string_view client_status,
                    std::string_view followup_eval_id, std::int64_t now);
/// Stages the eviction of `alloc` by the allocation `evictor_id` (R-MODEL-192).
void append_preempted(Plan& plan, const Allocation& alloc, std::string_view evictor_id);
/// Stages a placement or in-place update; a null `job` means the plan's (R-MODEL-193).
void append_alloc(Plan& plan, Allocation alloc, std::shared_ptr<const Job> job);
/// Stages an allocation whose node is disconnected; its statuses are already set (R-MODEL-194).
void append_unknown(Plan& plan, Allocation alloc);
/// Takes back the stop of `alloc` if it is the last one staged on its node (R-MODEL-195).
void pop_update(Plan& plan, const Allocation& alloc);

[[nodiscard]] bool is_no_op(const Plan& plan);          ///< R-MODEL-196; preemptions do not count
[[nodiscard]] bool is_no_op(const PlanResult& result);  ///< R-MODEL-197; preemptions do not count

struct Commit {
  bool full = false;
  std::int64_t expected = 0, actual = 0;  ///< placements
};
[[nodiscard]] Commit full_commit(const PlanResult& result, const Plan& plan);  ///< R-MODEL-198

/// A running deployment of `job` as it is now, without groups (R-RECON-208). `now` in ns.
[[nodiscard]] Deployment new_deployment(const Job& job, std::string id, std::int64_t eval_priority, std::int64_t now);
/// What a plan's deployment keeps of the stored one: groups it does not name, counts and deadlines (R-CTRL-706).
void keep_stored_counts(Deployment& planned, const Deployment& stored);
/// A group of `stored` is promoted and `planned` has it as not promoted: such a plan fails (R-CTRL-707).
[[nodiscard]] bool undoes_promotion(const Deployment& planned, const Deployment& stored);
/// The text of that failure.
inline constexpr std::string_view kPromotionUndone = "deployment promotion cannot be undone";

/// Cuts stops and preemptions down to what is submitted (R-MODEL-199).
void normalize(Plan& plan, const Quirks& quirks = {});

}  // namespace berth::model
