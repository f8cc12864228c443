// Applies changes of single keys to a parsed workload file. Separate from changes.h, so that only TOML readers include
// toml++.
#pragma once

#include "sim/changes.h"
#include "sim/toml_section.h"

namespace berth::sim {

/// Applies the changes. Returns problem and remedy of the first one that cannot be applied; nullopt on success.
[[nodiscard]] std::optional<InputError> apply_changes(toml::table& root, const std::vector<Change>& changes);

}  // namespace berth::sim
