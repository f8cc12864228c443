// Result of a simulation as text for the terminal and as part of `berth run`'s JSON (keys: bench/macro/README.md).
#pragma once

#include "base/json.h"
#include "run/life_result.h"

namespace berth::run {

/// Faults, recovery, unavailability, work, deployments, drains, storms and, for a small cluster, a log of events.
[[nodiscard]] std::string life_text(const LifeResult& life);
[[nodiscard]] json::Value life_json(const LifeResult& life);

}  // namespace berth::run
