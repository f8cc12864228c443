// What is measured of a run, one row per measure: where it stands in the run's report, its title, unit and direction.
// Reports put runs side by side by this list, studies keep these values of every run.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/json.h"

namespace berth::run {

struct Measure {
  const char *title, *path;  ///< path: in the report of a run, parts separated by '/'
  const char* unit;          ///< as report::shown writes it: "ns", "s", "bytes", "%", "/s", "x", "" (a count)
  int direction;             ///< +1: more is better, -1: less is, 0: neither
  bool always = false;       ///< shown even when 0 everywhere
  double scale = 1;
  bool tested = false;  ///< compared between the settings of a study; more would cost every test its power
};

[[nodiscard]] std::span<const Measure> measures();

/// The value of a measure; NaN where the report has none, and for rates that the arrivals set, not the scheduler.
[[nodiscard]] double value_of(const json::Value& report, const Measure& measure);

/// The number at `path` of a report; NaN where there is none.
[[nodiscard]] double value_at(const json::Value& report, std::string_view path);

/// Its name in records and databases: the path with '_' for '/'.
[[nodiscard]] std::string name_of(const Measure& measure);

}  // namespace berth::run
