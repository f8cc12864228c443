// What must hold of the state after every step of a life (R-CTRL-1720 to 1734), whatever happened.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "plan/apply.h"

namespace berth::conform {

using Problems = std::vector<std::string>;

/// The stored deployments, oldest first.
[[nodiscard]] std::vector<std::shared_ptr<const model::Deployment>> deployments_of(const tables::Snapshot& state);

/// Every table's own invariants, capacity and exclusive resources of every node (R-CTRL-1720, 1721), indexes (1730),
/// drains (1731), links (1732), deployments (1734), and that every stop says why.
void check_state(const tables::Snapshot& state, Problems& problems);
/// What a change may not touch: an allocation's node, job, group, name and amounts, and that the server's verdict is
/// final (R-CTRL-1723).
void check_change(const tables::Snapshot& before, const tables::Snapshot& after, Problems& problems);
/// Every node of a committed plan got all or nothing (R-CTRL-1733), and new allocations are on nodes that take some
/// (R-CTRL-1731).
void check_commit(const tables::Snapshot& after, const plan::PlanRows& plan, const plan::ApplyResult& result,
                  tables::StateStore& store, Problems& problems);
/// Once nothing is waiting to be evaluated: names are unique but for the exceptions of R-CTRL-1722; `refused` are the
/// jobs of which a plan was refused in part.
void check_names(const tables::Snapshot& state, const std::set<tables::JobKeyRow>& refused, Problems& problems);

}  // namespace berth::conform
