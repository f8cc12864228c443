// Output of `berth rebalance`: text, JSON (bench/schema/berth-rebalance.json) and script.
#pragma once

#include <string>

#include "base/json.h"
#include "rebalance/rebalance.h"

namespace berth::rebalance {

[[nodiscard]] std::string to_text(const Plan& plan, bool all);
[[nodiscard]] json::Value to_json(const Plan& plan);
/// A shell script that makes the moves with the `nomad` program. `cluster`: name of the plan's cluster.
[[nodiscard]] std::string script(const Plan& plan, const std::string& cluster);

}  // namespace berth::rebalance
