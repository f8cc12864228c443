#include "model/periodic/cron.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <span>

#include "base/text.h"
#include "model/job.h"

namespace berth::model {
namespace {

using std::chrono::sys_days;

constexpr std::int64_t kDay = 86'400;

/// Days since 1970 of a local second.
std::int64_t floor_day(std::int64_t local_s) { return local_s / kDay - (local_s % kDay < 0 ? 1 : 0); }

struct FieldShape {
  const char* name;
  int min, max;
  std::span<const char* const> names;  ///< names[i] stands for min + i
};

constexpr std::array kMonths = {"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"};
constexpr std::array kWeekdays = {"sun", "mon", "tue", "wed", "thu", "fri", "sat"};
constexpr FieldShape kSecondField{"second", 0, 59, {}};
constexpr FieldShape kMinuteField{"minute", 0, 59, {}};
constexpr FieldShape kHourField{"hour", 0, 23, {}};
constexpr FieldShape kDayField{"day-of-month", 1, 31, {}};
constexpr FieldShape kMonthField{"month", 1, 12, kMonths};
constexpr FieldShape kWeekdayField{"day-of-week", 0, 7, kWeekdays};
constexpr FieldShape kYearField{"year", 1970, 2099, {}};

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

std::string bad(const FieldShape& shape, std::string_view piece) {
  return std::string("syntax error in ") + shape.name + " field: '" + std::string(piece) + "'";
}

/// A number of the field, or one of its names (also in full: "monday").
std::optional<int> read_value(const FieldShape& shape, std::string_view text) {
  if (const auto number = base::parse_uint64(text)) {
    if (*number < static_cast<std::uint64_t>(shape.min) || *number > static_cast<std::uint64_t>(shape.max))
      return std::nullopt;
    return static_cast<int>(*number);
  }
  static constexpr std::array kLong = {"january", "february",  "march",    "april",    "may",      "june",   "july",
                                       "august",  "september", "october",  "november", "december", "sunday", "monday",
                                       "tuesday", "wednesday", "thursday", "friday",   "saturday"};
  for (std::size_t i = 0; i < shape.names.size(); ++i) {
    if (text == shape.names[i]) return shape.min + static_cast<int>(i);
    if (text.size() > 3 && text.starts_with(shape.names[i]) &&
        std::find(kLong.begin(), kLong.end(), text) != kLong.end())
      return shape.min + static_cast<int>(i);
  }
  return std::nullopt;
}

/// `*`, `a`, `a-b`, each with `/step`: calls `set` for every value.
template <class Set>
bool read_piece(const FieldShape& shape, std::string_view piece, Set set) {
  const auto parts = base::split(piece, '/');
  if (parts.size() > 2) return false;
  std::uint64_t step = 1;
  if (parts.size() == 2) {
    const auto given = base::parse_uint64(parts[1]);
    if (!given || *given == 0 || *given > 10'000) return false;
    step = *given;
  }
  int from = shape.min, to = shape.max;
  if (parts[0] != "*" && parts[0] != "?") {
    const auto ends = base::split(parts[0], '-');
    if (ends.size() > 2) return false;
    const auto first = read_value(shape, ends[0]);
    const auto last = ends.size() == 2 ? read_value(shape, ends[1]) : first;
    if (!first || !last || *first > *last) return false;
    from = *first;
    if (ends.size() == 2 || parts.size() == 1) to = *last;  // `5/10` runs to the end of the field
  }
  for (int value = from; value <= to; value += static_cast<int>(step)) set(value);
  return true;
}

template <std::size_t N>
std::string read_field(const FieldShape& shape, std::string_view text, int base_value, std::bitset<N>& out) {
  for (const std::string_view piece : base::split(text, ','))
    if (!read_piece(shape, piece, [&](int value) { out.set(static_cast<std::size_t>(value - base_value)); }))
      return bad(shape, piece);
  return "";
}

std::string read_days(std::string_view text, Cron& cron) {
  for (const std::string_view piece : base::split(text, ',')) {
    if (piece == "*" || piece == "?") {
      cron.days_of_month.set();
    } else if (piece == "l") {
      cron.any_day_of_month = false, cron.last_day = true;
    } else if (piece == "lw") {
      cron.any_day_of_month = false, cron.last_workday = true;
    } else if (piece.ends_with('w')) {
      const auto day = read_value(kDayField, piece.substr(0, piece.size() - 1));
      if (!day) return bad(kDayField, piece);
      cron.any_day_of_month = false, cron.workdays_near.set(static_cast<std::size_t>(*day));
    } else if (!read_piece(kDayField, piece, [&](int day) { cron.days_of_month.set(static_cast<std::size_t>(day)); })) {
      return bad(kDayField, piece);
    } else {
      cron.any_day_of_month = false;
    }
  }
  return "";
}

std::string read_weekdays(std::string_view text, Cron& cron) {
  for (const std::string_view piece : base::split(text, ',')) {
    const auto hash = piece.find('#');
    if (piece == "*" || piece == "?") {
      cron.days_of_week.set();
    } else if (hash != std::string_view::npos) {
      const auto day = read_value(kWeekdayField, piece.substr(0, hash));
      const auto nth = base::parse_uint64(piece.substr(hash + 1));
      if (!day || !nth || *nth < 1 || *nth > 5) return bad(kWeekdayField, piece);
      cron.any_day_of_week = false, cron.nth_of_week.emplace_back(*day % 7, static_cast<int>(*nth));
    } else if (piece.size() > 1 && piece.ends_with('l') &&
               read_value(kWeekdayField, piece.substr(0, piece.size() - 1))) {
      cron.any_day_of_week = false;
      cron.last_of_week.set(
          static_cast<std::size_t>(*read_value(kWeekdayField, piece.substr(0, piece.size() - 1)) % 7));
    } else if (!read_piece(kWeekdayField, piece,
                           [&](int day) { cron.days_of_week.set(static_cast<std::size_t>(day % 7)); })) {
      return bad(kWeekdayField, piece);
    } else {
      cron.any_day_of_week = false;
    }
  }
  return "";
}

bool is_workday(int weekday) { return weekday != 0 && weekday != 6; }

bool day_matches(const Cron& cron, std::chrono::year_month_day date) {
  const int day = static_cast<int>(static_cast<unsigned>(date.day()));
  const int last = static_cast<int>(
      static_cast<unsigned>(std::chrono::year_month_day_last(date.year(), date.month() / std::chrono::last).day()));
  const auto weekday_of = [&](int d) {
    const sys_days at = sys_days(date) + std::chrono::days(d - day);
    return static_cast<int>(std::chrono::weekday(at).c_encoding());
  };
  const int weekday = weekday_of(day);
  /// The workday nearest to day d within the same month.
  const auto nearest = [&](int d) {
    d = std::min(d, last);
    if (weekday_of(d) == 6) return d > 1 ? d - 1 : d + 2;
    if (weekday_of(d) == 0) return d < last ? d + 1 : d - 2;
    return d;
  };
  bool of_month = cron.days_of_month[static_cast<std::size_t>(day)] || (cron.last_day && day == last);
  if (cron.last_workday) {
    int d = last;
    while (!is_workday(weekday_of(d))) --d;
    of_month = of_month || d == day;
  }
  for (int d = 1; d <= 31 && !of_month; ++d)
    if (cron.workdays_near[static_cast<std::size_t>(d)] && d <= last && nearest(d) == day) of_month = true;
  bool of_week = cron.days_of_week[static_cast<std::size_t>(weekday)] ||
                 (cron.last_of_week[static_cast<std::size_t>(weekday)] && day + 7 > last);
  for (const auto& [wanted, nth] : cron.nth_of_week) of_week = of_week || (wanted == weekday && (day + 6) / 7 == nth);
  if (cron.any_day_of_month) return of_week;
  if (cron.any_day_of_week) return of_month;
  return of_month || of_week;
}

}  // namespace

tl::expected<Cron, std::string> parse_cron(std::string_view text) {
  std::string spec = lower(base::trim_space(text));
  for (const auto& [name, meaning] : {std::pair{"@annually", "0 0 0 1 1 * *"},
                                      {"@yearly", "0 0 0 1 1 * *"},
                                      {"@monthly", "0 0 0 1 * * *"},
                                      {"@weekly", "0 0 0 * * 0 *"},
                                      {"@daily", "0 0 0 * * * *"},
                                      {"@hourly", "0 0 * * * * *"}})
    if (spec == name) spec = meaning;
  std::vector<std::string_view> fields;
  for (const char separator : {'\t', '\n', '\r'}) std::replace(spec.begin(), spec.end(), separator, ' ');
  for (const std::string_view field : base::split(spec, ' '))
    if (!field.empty()) fields.push_back(field);
  if (fields.size() < 5) return tl::unexpected(std::string("missing field(s)"));
  if (fields.size() > 7) return tl::unexpected(std::string("too many fields"));
  Cron cron;
  std::size_t at = 0;
  std::string error;
  if (fields.size() == 7)
    error = read_field(kSecondField, fields[at++], 0, cron.seconds);
  else
    cron.seconds.set(0);
  if (error.empty()) error = read_field(kMinuteField, fields[at++], 0, cron.minutes);
  if (error.empty()) error = read_field(kHourField, fields[at++], 0, cron.hours);
  if (error.empty()) error = read_days(fields[at++], cron);
  if (error.empty()) error = read_field(kMonthField, fields[at++], 0, cron.months);
  if (error.empty()) error = read_weekdays(fields[at++], cron);
  if (error.empty()) {
    if (at < fields.size())
      error = read_field(kYearField, fields[at], 1970, cron.years);
    else
      cron.years.set();
  }
  if (!error.empty()) return tl::unexpected(std::move(error));
  return cron;
}

namespace {

/// First local second in [begin_s, end_s) that matches the time of day; all of them lie on one day.
std::optional<std::int64_t> match_on_day(const Cron& cron, std::int64_t begin_s, std::int64_t end_s) {
  const std::int64_t midnight_s = floor_day(begin_s) * kDay;
  const auto second_of_day = [&](std::int64_t s) { return static_cast<std::size_t>(s - midnight_s); };
  for (std::size_t hour = second_of_day(begin_s) / 3600; hour < 24; ++hour) {
    if (!cron.hours[hour]) continue;
    for (std::size_t minute = 0; minute < 60; ++minute) {
      if (!cron.minutes[minute]) continue;
      const std::int64_t minute_s = midnight_s + static_cast<std::int64_t>(hour * 3600 + minute * 60);
      if (minute_s + 60 <= begin_s) continue;
      if (minute_s >= end_s) return std::nullopt;
      for (std::size_t second = 0; second < 60; ++second) {
        const std::int64_t at_s = minute_s + static_cast<std::int64_t>(second);
        if (cron.seconds[second] && at_s >= begin_s) return at_s < end_s ? std::optional(at_s) : std::nullopt;
      }
    }
  }
  return std::nullopt;
}

/// The first day from `day` on, in days since 1970, that matches; none before 2100.
std::optional<std::int64_t> first_matching_day(const Cron& cron, std::int64_t day) {
  for (;;) {
    const std::chrono::year_month_day date{sys_days{std::chrono::days{day}}};
    const int year = static_cast<int>(date.year());
    if (year > 2099) return std::nullopt;
    const bool in_year = year >= 1970 && cron.years[static_cast<std::size_t>(year - 1970)];
    if (in_year && cron.months[static_cast<unsigned>(date.month())]) {
      if (day_matches(cron, date)) return day;
      ++day;
      continue;
    }
    const std::chrono::year_month next =
        (in_year ? date.year() / date.month() : date.year() / std::chrono::December) + std::chrono::months(1);
    day = sys_days{next / 1}.time_since_epoch().count();
  }
}

}  // namespace

// An instant matches if the wall clock shows a match then: where the clock is set back an hour matches twice, where it
// is set forward the skipped hour does not match at all.
base::Time next_match(const Cron& cron, base::Time after, const TimeZone& zone) {
  std::int64_t at_s = after.ns / base::kSecond - (after.ns % base::kSecond < 0 ? 1 : 0);
  at_s = std::max<std::int64_t>(at_s, -1) + 1;
  for (;;) {  // one stretch of one day with one offset after another
    const std::int64_t offset_s = zone.offset_s(at_s), day = floor_day(at_s + offset_s);
    const std::optional<std::int64_t> matching = first_matching_day(cron, day);
    if (!matching) return {};
    if (*matching - day > 2) {  // offsets change by less than a day
      at_s += (*matching - day - 2) * kDay;
      continue;
    }
    std::int64_t end_s = (day + 1) * kDay - offset_s;  // of the stretch
    if (zone.offset_s(end_s - 1) != offset_s) {
      std::int64_t same_s = at_s, other_s = end_s - 1;  // the first second with another offset lies between
      while (other_s - same_s > 1) {
        const std::int64_t middle_s = same_s + (other_s - same_s) / 2;
        (zone.offset_s(middle_s) == offset_s ? same_s : other_s) = middle_s;
      }
      end_s = other_s;
    }
    if (*matching == day)
      if (const auto local_s = match_on_day(cron, at_s + offset_s, end_s + offset_s))
        return {(*local_s - offset_s) * base::kSecond};
    at_s = end_s;
  }
}

std::string launch_problem(const PeriodicConfig& periodic) {
  const auto problem = [](const std::string& spec) {
    const auto cron = parse_cron(spec);
    return cron ? std::string() : "failed parsing cron expression: " + spec + ": " + cron.error();
  };
  if (!periodic.spec.empty()) return problem(periodic.spec);
  for (const std::string& spec : periodic.specs)
    if (const std::string text = problem(spec); !text.empty())
      return "failed parsing cron expression " + spec + ": " + text;
  return "";
}

base::Time next_launch(const PeriodicConfig& periodic, base::Time after) {
  if (!periodic.enabled || periodic.spec_type != "cron" || after.is_zero()) return {};
  const auto zone = TimeZone::load(periodic.time_zone);
  if (!zone) return {};
  std::vector<std::string> specs = periodic.specs;
  if (!periodic.spec.empty()) specs.insert(specs.begin(), periodic.spec);
  base::Time next;
  for (const std::string& spec : specs) {
    const auto cron = parse_cron(spec);
    if (!cron) return {};
    const base::Time match = next_match(*cron, after, *zone);
    if (next.is_zero() || match < next) next = match;  // the zero time is the smallest of all: it wins
  }
  return next;
}

}  // namespace berth::model
