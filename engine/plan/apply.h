// The plan applier: checks a plan against the newest state and commits what still fits (part 07, R-CTRL-601 ff.).
//
// Today it commits the placements of one worker; plans of several racing workers are checked node by node, so a plan
// made on an older snapshot is refused where its node has filled up meanwhile.
#pragma once

#include <vector>

#include "plan/plan_rows.h"

namespace berth::plan {

struct ApplyResult {
  std::uint64_t index = 0;                      ///< of the commit; 0 when nothing was committed
  std::uint32_t committed = 0, refused = 0;     ///< planned allocations
  std::vector<tables::NodeRow> rejected_nodes;  ///< ascending by first planned allocation
  [[nodiscard]] bool full() const { return refused == 0; }
};

/// Commits the plan at `index`. A node whose placements no longer fit is left out whole (R-CTRL-615); with
/// `all_at_once` one such node refuses the plan. Cost: O(planned allocations).
void apply(tables::StateStore& store, const PlanRows& plan, std::uint64_t index, bool all_at_once, ApplyResult& result);

}  // namespace berth::plan
