// Building a plan and judging its result (R-MODEL-191 to 199).
#pragma once

#include <cstdint>
#include <string_view>

#include "model/eval.h"
#include "model/quirks.h"

namespace berth::model {

[[nodiscard]] bool is_no_op(const Plan& plan);          ///< R-MODEL-196; preemptions do not count
[[nodiscard]] bool is_no_op(const PlanResult& result);  ///< R-MODEL-197; preemptions do not count

struct Commit {
  bool full = false;
  std::int64_t expected = 0, actual = 0;  ///< placements
};
[[nodiscard]] Commit full_commit(const PlanResult& result, const Plan& plan);  ///< R-MODEL-198

/// A new running deployment of the current version of `job`, without groups (R-RECON-208). `now` in ns.
[[nodiscard]] Deployment new_deployment(const Job& job, std::string id, std::int64_t eval_priority, std::int64_t now);
/// Copies from the stored deployment what the planned one keeps: groups it does not name, counts and deadlines
/// (R-CTRL-706).
void keep_stored_counts(Deployment& planned, const Deployment& stored);
/// True if a group is promoted in `stored` but not in `planned`: such a plan fails (R-CTRL-707).
[[nodiscard]] bool undoes_promotion(const Deployment& planned, const Deployment& stored);
/// The error text of that failure.
inline constexpr std::string_view kPromotionUndone = "deployment promotion cannot be undone";

/// Cuts stops and preemptions down to what is submitted (R-MODEL-199).
void normalize(Plan& plan, const Quirks& quirks = {});

}  // namespace berth::model
