// A profile of the side that got slower, taken with perf where that is there and the kernel lets it.
#pragma once

#include "gate/measure.h"

namespace berth::gate {

struct Profile {
  std::string case_name;
  std::string file;  ///< perf's data; "" without one
  std::string text;  ///< the functions that take most time, one a line; or why there is none
};

/// Runs a case once more under `perf record` and keeps the data in `folder` as CASE.perf.data. Never fails: what is in
/// the way is said in `text`, as a verdict does not depend on it.
[[nodiscard]] Profile profile_once(const Command& command, const Case& what, const MeasureOptions& options,
                                   const std::string& folder);

}  // namespace berth::gate
