// Compares two paths through the applier: a plan of rows must leave the same state as its API objects. Recorded commits
// check the latter.
#pragma once

#include <string>
#include <vector>

#include "conform/life/life.h"

namespace berth::conform {

/// Commits the plan's API objects to the state before it, and compares the result with that of its rows. Not compared:
/// data that the tables lack for plain allocations (evaluation, times, metrics), and job records. Returns one line per
/// difference. Cost: loads the whole state.
[[nodiscard]] std::vector<std::string> compare_ways(const CommittedPlan& committed);

}  // namespace berth::conform
