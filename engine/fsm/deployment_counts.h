// Changes of a stored deployment when its allocations or its status change (R-CTRL-727 to 729, 1215). Pure functions:
// the caller stores the result and sets the indexes.
#pragma once

#include <optional>
#include <string_view>

#include "model/eval.h"

namespace berth::fsm {

/// Changes of a group's counts because of one allocation (R-CTRL-727).
struct HealthCounts {
  int placed = 0, healthy = 0, unhealthy = 0;
  [[nodiscard]] bool none() const { return placed == 0 && healthy == 0 && unhealthy == 0; }
};
/// The change for an allocation whose health was `before` and is `now`; `placed`: the deployment has not counted it
/// yet.
[[nodiscard]] HealthCounts health_counts(bool placed, std::optional<bool> before, std::optional<bool> now);

/// The data of an allocation that its deployment counts.
struct CountedAlloc {
  std::string_view canary;       ///< its ID, if it is a canary
  std::int64_t modify_time = 0;  ///< unix ns
  base::Time health_at;          ///< time at which its health was decided
};
/// Updates the counts, canaries and deadlines of the group (R-CTRL-727, 729).
void add(const HealthCounts& counts, const CountedAlloc& alloc, model::DeploymentState& group);

/// Returns the deployment after `alloc` replaced `before` (null: it is new); nullopt if nothing changes. A change of
/// health sets the modify index of the allocation's deployment status to `index`.
[[nodiscard]] std::optional<model::Deployment> counted(const model::Deployment& stored, model::Allocation& alloc,
                                                       const model::Allocation* before, std::uint64_t index);

/// Returns `stored` with another status. Running and paused deployments get new deadlines (R-CTRL-1215). `now` in unix
/// ns.
[[nodiscard]] model::Deployment with_status(const model::Deployment& stored, std::string_view status,
                                            std::string_view description, std::int64_t now);

}  // namespace berth::fsm
