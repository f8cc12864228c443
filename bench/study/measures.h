// What is measured of the runs of a study: the measures of a run, then those of comparisons (`compare.*` keys of a
// plan) that have other names.
#pragma once

#include <span>

#include "run/measures.h"

namespace berth::study {

/// run::measures() come first, at the same positions.
[[nodiscard]] std::span<const run::Measure> measures();

}  // namespace berth::study
