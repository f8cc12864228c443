// The measures of a run: path in the run's report, title, unit and direction. Comparisons of runs show this list,
// studies store these values of every run.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/json.h"

namespace berth::run {

struct Measure {
  const char *title, *path;  ///< path: in the report of a run, parts separated by '/'
  const char* unit;          ///< for report::shown: "ns", "s", "bytes", "%", "/s", "x", "" (a count)
  int direction;             ///< +1: more is better, -1: less is, 0: neither
  bool always = false;       ///< shown even if 0 everywhere
  double scale = 1;
  bool tested = false;  ///< tested between the settings of a study; more tests would reduce the power of each
};

[[nodiscard]] std::span<const Measure> measures();

/// The value of a measure; NaN if the report has none, and for rates determined by the arrivals, not by the scheduler.
[[nodiscard]] double value_of(const json::Value& report, const Measure& measure);

/// The number at `path` of a report; NaN if there is none.
[[nodiscard]] double value_at(const json::Value& report, std::string_view path);

/// Its name in records and databases: the path with '_' for '/'.
[[nodiscard]] std::string name_of(const Measure& measure);

}  // namespace berth::run
