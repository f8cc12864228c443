// What becomes of a stored deployment when its allocations or its status change (R-CTRL-727 to 729, 1215). Values in,
// values out: whoever stores it sets the indexes.
#pragma once

#include <optional>
#include <string_view>

#include "model/eval.h"

namespace berth::fsm {

/// What an allocation adds to the counts of its group (R-CTRL-727).
struct HealthCounts {
  int placed = 0, healthy = 0, unhealthy = 0;
  [[nodiscard]] bool none() const { return placed == 0 && healthy == 0 && unhealthy == 0; }
};
/// Of an allocation with health `now`, which had `before`; `placed`: the deployment has not counted it yet.
[[nodiscard]] HealthCounts health_counts(bool placed, std::optional<bool> before, std::optional<bool> now);

/// An allocation as its deployment counts it.
struct CountedAlloc {
  std::string_view canary;       ///< its ID, if it is a canary
  std::int64_t modify_time = 0;  ///< unix ns
  base::Time health_at;          ///< when its health was decided
};
/// Counts, canaries and deadlines of its group (R-CTRL-727, 729).
void add(const HealthCounts& counts, const CountedAlloc& alloc, model::DeploymentState& group);

/// `stored` once `alloc` is stored in place of `before` (null: it is new); nothing when all stays as it is. A change of
/// health stamps `index` on the allocation's deployment status.
[[nodiscard]] std::optional<model::Deployment> counted(const model::Deployment& stored, model::Allocation& alloc,
                                                       const model::Allocation* before, std::uint64_t index);

/// `stored` with another status; running and paused ones get new deadlines (R-CTRL-1215). `now` in unix ns.
[[nodiscard]] model::Deployment with_status(const model::Deployment& stored, std::string_view status,
                                            std::string_view description, std::int64_t now);

}  // namespace berth::fsm
