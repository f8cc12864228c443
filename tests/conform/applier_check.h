// Compares two paths through the applier: a plan of rows must leave the same state as its API objects. Recorded commits
// check the latter.
#pragma once

#include <string>
#include <vector>

#include "conform/life/life.h"

namespace berth::conform {

/// Commits the plan's API objects to the state before it and compares with what its rows left and answered. What the
/// tables do not hold of plain allocations (evaluation, times, metrics) is not compared, nor are job records. One line
/// per difference. Cost: loads the whole state.
[[nodiscard]] std::vector<std::string> compare_ways(const CommittedPlan& committed);

}  // namespace berth::conform
