// Constraint lists on one node (R-FEAS-303, 308, 701, 702).
//
// This is the reference definition, one node at a time. Schedulers with columns evaluate each compiled constraint once
// per distinct value instead and must find the same index.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "match/operand.h"
#include "model/resources.h"

namespace berth::feasible {

/// A constraint list, compiled once per job version. `reasons[i]` is the filter reason of a node that fails constraint
/// i: the three raw texts joined by single spaces, with a trailing space if RTarget is empty (R-FEAS-701).
struct ConstraintList {
  std::vector<match::Constraint> constraints;
  std::vector<std::string> reasons;
};

[[nodiscard]] ConstraintList compile(std::span<const model::Constraint> constraints, match::Patterns& patterns);

/// The group's constraints, then those of its tasks in task order (R-FEAS-308).
[[nodiscard]] ConstraintList compile_group(const model::TaskGroup& group, match::Patterns& patterns);

/// Index of the first constraint that does not hold on `node`; nullopt if all do.
[[nodiscard]] std::optional<std::size_t> first_failing(const ConstraintList& list, const model::Node& node,
                                                       match::Patterns& patterns);

}  // namespace berth::feasible
