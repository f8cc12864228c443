// Looks up the strategies that a workload may name.
#pragma once

#include <string>

#include "berth/strategy.h"
#include "sim/workload.h"

namespace berth::sim {

/// Finds a sum defined in the workload file, or a registered strategy, "name:key=value". Errors list both.
[[nodiscard]] Result<strategy::StrategySpec> named_strategy(const Workload& workload, const std::string& text);

}  // namespace berth::sim
