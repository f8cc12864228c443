// The measures of a study's runs: those of a run, then those of comparisons (`compare.*` keys of a plan) with other
// names.
#pragma once

#include <span>

#include "run/measures.h"

namespace berth::study {

/// run::measures() come first, at the same positions.
[[nodiscard]] std::span<const run::Measure> measures();

}  // namespace berth::study
