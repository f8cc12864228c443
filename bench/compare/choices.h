// Choices of a comparison by their names, as the command line and the plans of sweeps write them.
#pragma once

#include <string>

#include "compare/grid.h"

namespace berth::compare {

/// The rule of whom to evict, into `named`.
[[nodiscard]] Result<void> find_preemption(const std::string& text, NamedStrategy& named);
/// The rule of what to move, into `named`.
[[nodiscard]] Result<void> find_rebalance(const std::string& name, NamedStrategy& named);
/// "nomad" or "kubernetes": whom a task may evict. Errors name `option`.
[[nodiscard]] Result<sim::Eligibility> parse_eligibility(const std::string& option, const std::string& text);
/// "none", "migrate" or a number: how many of a group may be away at a time. Errors name `option`.
[[nodiscard]] Result<sim::Budgets> parse_budget(const std::string& option, const std::string& text);

}  // namespace berth::compare
