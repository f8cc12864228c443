// Runs of a plan that are runs of `berth compare`: keys `compare.*` correspond to its options.
//
//   compare.strategy    ranking strategy that places tasks; default nomad-binpack
//   compare.preemption  preemption rule      compare.eligible, compare.budget  as --eligible and --budget
//   compare.rebalance   rebalancing rule     compare.ratio                     as --ratio
#pragma once

#include <vector>

#include "compare/grid.h"
#include "sim/changes.h"

namespace berth::study {

struct SplitChanges {
  std::vector<sim::Change> of_workload, of_compare;  ///< the latter without "compare."
};
[[nodiscard]] SplitChanges split_changes(const std::vector<sim::Change>& changes);

/// One strategy or rule and the workload's seed, for run_grid. Errors name the key.
[[nodiscard]] Result<compare::GridOptions> read_choices(const sim::Workload& workload, const SplitChanges& changes);

}  // namespace berth::study
