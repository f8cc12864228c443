// Two appliers, one truth: the plan of an evaluation, committed as rows, must leave the state that the applier of API
// objects leaves, which recorded commits vouch for.
#pragma once

#include <string>
#include <vector>

#include "log/state_log.h"
#include "plan/apply.h"

namespace berth::conform {

/// Commits `plan` to `before` with plan::ModelApplier and compares with `after`, which the row applier left, and with
/// what it reported; of the jobs, status, stability and ModifyIndex with those of `lived`. What the tables do not hold
/// of plain allocations (evaluation, times, metrics) is not compared. One line per difference. Cost: loads the whole
/// state.
[[nodiscard]] std::vector<std::string> compare_appliers(const model::ClusterState& before, const model::Plan& plan,
                                                        std::int64_t now_ns, std::uint64_t index,
                                                        const tables::Snapshot& after, const log::StateLog& lived,
                                                        const plan::ApplyResult& reported, const model::Quirks& quirks);

}  // namespace berth::conform
