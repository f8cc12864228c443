// Lays changes of single keys over a parsed workload file; apart from changes.h, so that only readers of TOML see
// toml++.
#pragma once

#include "sim/changes.h"
#include "sim/toml_section.h"

namespace berth::sim {

/// What is wrong with the first change that cannot be laid over, as problem and remedy; nothing when all were.
[[nodiscard]] std::optional<InputError> apply_changes(toml::table& root, const std::vector<Change>& changes);

}  // namespace berth::sim
