// A life's result as text for the terminal and as a part of `berth run`'s JSON (bench/macro/README.md has the keys).
#pragma once

#include "base/json.h"
#include "run/life_result.h"

namespace berth::run {

/// Faults, recovery, unavailability, work, deployments, drains, storms, and the story of a small cluster.
[[nodiscard]] std::string life_text(const LifeResult& life);
[[nodiscard]] json::Value life_json(const LifeResult& life);

}  // namespace berth::run
