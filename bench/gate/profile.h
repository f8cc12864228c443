// A profile of the side that got slower, taken with perf if it is installed and permitted.
#pragma once

#include "gate/measure.h"

namespace berth::gate {

struct Profile {
  std::string case_name;
  std::string file;  ///< perf's data; "" if none
  std::string text;  ///< the functions that take most time, one per line; or why there is no profile
};

/// Runs a case once more under `perf record` and stores the data in `folder` as CASE.perf.data. Never fails, because
/// the verdict does not depend on it: `text` contains any problem.
[[nodiscard]] Profile profile_once(const Command& command, const Case& what, const MeasureOptions& options,
                                   const std::string& folder);

}  // namespace berth::gate
