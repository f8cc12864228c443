// Looks up choices of a comparison by their names on the command line and in plans of sweeps.
#pragma once

#include <string>

#include "compare/grid.h"

namespace berth::compare {

/// Stores the preemption rule in `named`.
[[nodiscard]] Result<void> find_preemption(const std::string& text, NamedStrategy& named);
/// Stores the queue policy in `named`.
[[nodiscard]] Result<void> find_queue(const std::string& text, NamedStrategy& named);
/// Stores the rebalancing rule in `named`.
[[nodiscard]] Result<void> find_rebalance(const std::string& name, NamedStrategy& named);
/// "nomad" or "kubernetes": which tasks may be evicted. Errors name `option`.
[[nodiscard]] Result<packing::Eligibility> parse_eligibility(const std::string& option, const std::string& text);
/// "none", "migrate" or a number: the disruption budget of a group. Errors name `option`.
[[nodiscard]] Result<packing::Budgets> parse_budget(const std::string& option, const std::string& text);

}  // namespace berth::compare
