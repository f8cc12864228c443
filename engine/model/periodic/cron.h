// Cron specifications and time zones of periodic jobs (R-MODEL-117, R-CTRL-1302).
//
// Fields: [second] minute hour day-of-month month day-of-week [year]; five fields are minute to day of week, six add
// the year. Each takes `*`, `?`, lists, ranges and `/step`; months and days of week also names; the day of month `L`,
// `LW` and `15W`; the day of week `5L` and `5#3`. When both days are restricted, a day matching either of them counts.
// `@yearly`, `@annually`, `@monthly`, `@weekly`, `@daily` and `@hourly` abbreviate.
#pragma once

#include <cctz/time_zone.h>

#include <bitset>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "base/time.h"
#include "model/resources.h"

namespace berth::model {

struct Cron {
  std::bitset<60> seconds, minutes;
  std::bitset<24> hours;
  std::bitset<32> days_of_month;  ///< bits 1 to 31
  std::bitset<13> months;         ///< bits 1 to 12
  std::bitset<7> days_of_week;    ///< 0 = Sunday
  std::bitset<200> years;         ///< bit 0 = 1970
  bool any_day_of_month = true, any_day_of_week = true;
  bool last_day = false, last_workday = false;
  std::bitset<32> workdays_near;                 ///< `15W`
  std::bitset<7> last_of_week;                   ///< `5L`
  std::vector<std::pair<int, int>> nth_of_week;  ///< `5#3` = {5, 3}
};

/// The error is the bare reason, as registration prints it.
[[nodiscard]] tl::expected<Cron, std::string> parse_cron(std::string_view text);

/// Offsets from UTC over time, read by cctz from the system's time zone files (TZDIR, else /usr/share/zoneinfo).
class TimeZone {
 public:
  /// nullopt if there is no such zone. "" and "UTC" need no file.
  [[nodiscard]] static std::optional<TimeZone> load(const std::string& name);
  /// Seconds to add to UTC at `utc_s` (Unix seconds) to get local time.
  [[nodiscard]] std::int64_t offset_s(std::int64_t utc_s) const;

 private:
  explicit TimeZone(cctz::time_zone zone) : zone_(zone) {}
  cctz::time_zone zone_;
};

[[nodiscard]] bool is_time_zone(const std::string& name);

/// First match strictly after `after`, to the second; the zero time when there is none before 2100. An hour that the
/// clock repeats matches twice, one that it skips never.
[[nodiscard]] base::Time next_match(const Cron& cron, base::Time after, const TimeZone& zone);

/// Explains why a periodic job cannot be launched: the first of its specs that does not parse, in Nomad's words; "" if
/// all do.
[[nodiscard]] std::string launch_problem(const PeriodicConfig& periodic);

/// Next launch of a periodic job strictly after `after` (R-CTRL-1302): the earliest over its specs. A spec without a
/// match resets the earliest launch found so far to none. The zero time if disabled, malformed or never.
[[nodiscard]] base::Time next_launch(const PeriodicConfig& periodic, base::Time after);

}  // namespace berth::model
