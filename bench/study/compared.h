// Runs of a plan that are those of `berth compare`: keys `compare.*` choose what it would with its options.
//
//   compare.strategy    ranking strategy that places tasks; nomad-binpack unless said
//   compare.preemption  rule of whom to evict    compare.eligible, compare.budget  as --eligible and --budget
//   compare.rebalance   rule of what to move     compare.ratio                     as --ratio
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
