// Which strategies a workload names.
#pragma once

#include <string>

#include "berth/strategy.h"
#include "sim/workload.h"

namespace berth::sim {

/// A sum that the workload file defines, or a strategy of the registry, "name:key=value". Errors list both.
[[nodiscard]] Result<strategy::StrategySpec> named_strategy(const Workload& workload, const std::string& text);

}  // namespace berth::sim
