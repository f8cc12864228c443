// R-HCL-590 to 592: formatdate() and timeadd(), with the texts of Go's parser of RFC 3339.
#include <array>
#include <chrono>
#include <cstdio>

#include "base/text.h"
#include "hcl/function_table.h"
#include "hcl/go_duration.h"

namespace berth::hcl {
namespace {

constexpr std::array<const char*, 12> kMonths = {"January", "February", "March",     "April",   "May",      "June",
                                                 "July",    "August",   "September", "October", "November", "December"};
constexpr std::array<const char*, 7> kDays = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                              "Thursday", "Friday", "Saturday"};

struct Time {
  std::chrono::sys_seconds seconds;  // UTC
  std::int64_t nanoseconds = 0;
  std::int64_t offset = 0;  // seconds east of UTC
  bool utc = false;         // written with Z

  [[nodiscard]] std::chrono::sys_seconds local() const { return seconds + std::chrono::seconds(offset); }
};

std::string two_digits(std::int64_t number) {
  std::array<char, 24> text{};
  std::snprintf(text.data(), text.size(), "%02lld", static_cast<long long>(number));
  return text.data();
}

std::string four_digits(std::int64_t number) {
  std::array<char, 24> text{};
  std::snprintf(text.data(), text.size(), "%04lld", static_cast<long long>(number));
  return text.data();
}

/// Reads RFC 3339 from left to right; the error is at the first place that does not fit.
class TimeReader {
 public:
  explicit TimeReader(std::string_view text) : rest_(text) {}

  tl::expected<Time, std::string> read() {
    std::int64_t year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
    Time time;
    const bool fits = number("year", 4, 4, 0, 9999, year) && separator('-') && number("month", 2, 2, 1, 12, month) &&
                      separator('-') && number("day", 2, 2, 0, 99, day) && separator('T') &&
                      number("hour", 1, 2, 0, 23, hour) && separator(':') && number("minute", 2, 2, 0, 59, minute) &&
                      separator(':') && number("second", 2, 2, 0, 59, second) && fraction(time) && zone(time);
    if (!fits) return tl::unexpected(not_a_timestamp(problem_));
    if (!rest_.empty()) {
      bad(rest_, "timestamp segment");
      return tl::unexpected(not_a_timestamp(problem_));
    }
    const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(year)),
                                           std::chrono::month(static_cast<unsigned>(month)),
                                           std::chrono::day(static_cast<unsigned>(day))};
    if (!date.ok()) return tl::unexpected(not_a_timestamp("day out of range"));
    time.seconds = std::chrono::sys_days(date) + std::chrono::hours(hour) + std::chrono::minutes(minute) +
                   std::chrono::seconds(second) - std::chrono::seconds(time.offset);
    return time;
  }

 private:
  static std::string not_a_timestamp(const std::string& problem) { return "not a valid RFC3339 timestamp: " + problem; }

  bool bad(std::string_view text, const char* part) {
    problem_ = text.empty() ? std::string("end of string before ") + part
                            : "cannot use " + base::go_quote(text) + " as " + part;
    return false;
  }

  bool number(const char* part, std::size_t least, std::size_t most, std::int64_t low, std::int64_t high,
              std::int64_t& value) {
    std::size_t digits = 0;
    while (digits < most && digits < rest_.size() && rest_[digits] >= '0' && rest_[digits] <= '9') {
      value = value * 10 + (rest_[digits++] - '0');
    }
    if (digits < least) return bad(rest_, part);
    rest_.remove_prefix(digits);
    return (value >= low && value <= high) || bad(rest_, part);  // after a number out of range: the rest
  }

  bool separator(char wanted) {
    if (rest_.starts_with(wanted)) {
      rest_.remove_prefix(1);
      return true;
    }
    const std::string expected = std::string("where \"") + wanted + "\" is expected";
    if (wanted == 'T')
      problem_ = "missing required time introducer 'T'";
    else
      problem_ = (rest_.empty() ? "end of string " : "found " + base::go_quote(rest_) + " ") + expected;
    return false;
  }

  bool fraction(Time& time) {
    if (rest_.size() < 2 || (rest_[0] != '.' && rest_[0] != ',') || rest_[1] < '0' || rest_[1] > '9') return true;
    rest_.remove_prefix(1);
    std::int64_t unit = 100'000'000;
    while (!rest_.empty() && rest_[0] >= '0' && rest_[0] <= '9') {
      time.nanoseconds += (rest_[0] - '0') * unit;
      unit /= 10;
      rest_.remove_prefix(1);
    }
    return true;
  }

  bool zone(Time& time) {
    const std::string_view whole = rest_;
    if (rest_.starts_with('Z')) {
      rest_.remove_prefix(1);
      time.utc = true;
      return true;
    }
    const auto digit = [&](std::size_t i) { return whole[i] >= '0' && whole[i] <= '9'; };
    if (whole.size() < 6 || (whole[0] != '+' && whole[0] != '-') || whole[3] != ':' || !digit(1) || !digit(2) ||
        !digit(4) || !digit(5)) {
      return bad(whole, "UTC offset");
    }
    const std::int64_t hours = (whole[1] - '0') * 10 + (whole[2] - '0');
    const std::int64_t minutes = (whole[4] - '0') * 10 + (whole[5] - '0');
    rest_.remove_prefix(6);
    if (hours > 24 || minutes > 60) return bad(rest_, "UTC offset");  // after a number out of range: the rest
    time.offset = (hours * 60 + minutes) * 60 * (whole[0] == '-' ? -1 : 1);
    return true;
  }

  std::string_view rest_;
  std::string problem_;
};

std::string offset_text(std::int64_t offset, const char* separator) {
  const std::int64_t minutes = std::abs(offset) / 60;
  return (offset < 0 ? "-" : "+") + two_digits(minutes / 60) + separator + two_digits(minutes % 60);
}

/// The parts of a time that verbs print, in the time's own offset.
struct Parts {
  explicit Parts(const Time& t) : time(t) {
    const auto local = t.local();
    const auto days = std::chrono::floor<std::chrono::days>(local);
    date = std::chrono::year_month_day(days);
    weekday = std::chrono::weekday(days).c_encoding();
    const std::chrono::hh_mm_ss clock(local - days);
    hour = clock.hours().count();
    minute = clock.minutes().count();
    second = clock.seconds().count();
  }
  const Time& time;
  std::chrono::year_month_day date{};
  unsigned weekday = 0;
  std::int64_t hour = 0, minute = 0, second = 0;
};

/// The text that one verb prints, or the error text of R-HCL-591.
tl::expected<std::string, const char*> verb_text(std::string_view verb, const Parts& parts) {
  const auto length = verb.size();
  const auto month = static_cast<unsigned>(parts.date.month());
  const auto day = static_cast<unsigned>(parts.date.day());
  const auto year = static_cast<int>(parts.date.year());
  const auto one_or_two = [&](std::int64_t number) {
    return length == 2 ? two_digits(number) : std::to_string(number);
  };
  const std::int64_t hour_of_12 = parts.hour % 12 == 0 ? 12 : parts.hour % 12;
  switch (verb[0]) {
    case 'Y':
      if (length == 4) return four_digits(year);
      if (length == 2) return two_digits(year % 100);
      return tl::unexpected<const char*>(": year must either be \"YY\" or \"YYYY\"");
    case 'M':
      if (length == 4) return std::string(kMonths[month - 1]);
      if (length == 3) return std::string(kMonths[month - 1]).substr(0, 3);
      if (length <= 2) return one_or_two(month);
      return tl::unexpected<const char*>(": month must be \"M\", \"MM\", \"MMM\", or \"MMMM\"");
    case 'D':
      if (length <= 2) return one_or_two(day);
      return tl::unexpected<const char*>(": day of month must either be \"D\" or \"DD\"");
    case 'E':
      if (length == 4) return std::string(kDays[parts.weekday]);
      if (length == 3) return std::string(kDays[parts.weekday]).substr(0, 3);
      return tl::unexpected<const char*>(": day of week must either be \"EEE\" or \"EEEE\"");
    case 'h':
      if (length <= 2) return one_or_two(parts.hour);
      return tl::unexpected<const char*>(": 24-hour must either be \"h\" or \"hh\"");
    case 'H':
      if (length <= 2) return one_or_two(hour_of_12);
      return tl::unexpected<const char*>(": 12-hour must either be \"H\" or \"HH\"");
    case 'A':
      if (length == 2) return std::string(parts.hour < 12 ? "AM" : "PM");
      return tl::unexpected<const char*>(": must be \"AA\"");
    case 'a':
      if (length == 2) return std::string(parts.hour < 12 ? "am" : "pm");
      return tl::unexpected<const char*>(": must be \"aa\"");
    case 'm':
      if (length <= 2) return one_or_two(parts.minute);
      return tl::unexpected<const char*>(": minute must either be \"m\" or \"mm\"");
    case 's':
      if (length <= 2) return one_or_two(parts.second);
      return tl::unexpected<const char*>(": second must either be \"s\" or \"ss\"");
    case 'Z': {
      const std::int64_t offset = parts.time.offset;
      const bool utc = parts.time.utc || offset == 0;
      if (length == 1) return utc ? "Z" : offset_text(offset, ":");
      if (length == 3) return utc ? "UTC" : offset_text(offset, "");
      if (length == 4) return offset_text(offset, "");
      if (length == 5) return offset_text(offset, ":");
      return tl::unexpected<const char*>(": timezone must be Z, ZZZZ, or ZZZZZ");
    }
    default:
      return tl::unexpected<const char*>("");
  }
}

bool is_verb_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

CallOutcome format_date(Arguments arguments, const FileAccess&) {
  const std::string_view format = arguments[0].string();
  const auto time = TimeReader(arguments[1].string()).read();
  if (!time) return fail_argument(1, time.error());
  const Parts parts(*time);
  std::string result;
  for (std::size_t at = 0; at < format.size();) {
    const std::size_t begin = at;
    if (format[at] == '\'') {
      std::string literal;
      for (++at;; ++at) {
        if (at >= format.size()) return fail_argument(0, "unterminated literal '");
        if (format[at] == '\'') {
          if (at + 1 >= format.size() || format[at + 1] != '\'') break;
          ++at;
        }
        literal += format[at];
      }
      ++at;
      result += literal;
    } else if (is_verb_letter(format[at])) {
      while (at < format.size() && format[at] == format[begin]) ++at;
      const std::string_view verb = format.substr(begin, at - begin);
      const auto text = verb_text(verb, parts);
      if (!text) return fail_argument(0, "invalid date format verb " + base::go_quote(verb) + text.error());
      result += *text;
    } else {
      result += format[at++];
    }
  }
  return Value::of(result);
}

CallOutcome add_time(Arguments arguments, const FileAccess&) {
  auto time = TimeReader(arguments[0].string()).read();
  if (!time) return fail(time.error());
  const auto duration = parse_go_duration(arguments[1].string());
  if (!duration) return fail(duration.error());
  constexpr std::int64_t kSecond = 1'000'000'000;
  const std::int64_t nanoseconds = time->nanoseconds + *duration % kSecond;
  const std::int64_t carry = nanoseconds >= kSecond ? 1 : nanoseconds < 0 ? -1 : 0;
  time->seconds += std::chrono::seconds(*duration / kSecond + carry);
  const Parts parts(*time);
  std::string result = four_digits(static_cast<int>(parts.date.year()));
  result += "-" + two_digits(static_cast<unsigned>(parts.date.month()));
  result += "-" + two_digits(static_cast<unsigned>(parts.date.day()));
  result += "T" + two_digits(parts.hour) + ":" + two_digits(parts.minute) + ":" + two_digits(parts.second);
  result += time->utc || time->offset == 0 ? "Z" : offset_text(time->offset, ":");
  return Value::of(result);
}

}  // namespace

void add_time_functions(Functions& table) {
  table.push_back({"formatdate", {{"format", Kind::string}, {"time", Kind::string}}, {}, format_date});
  table.push_back({"timeadd", {{"timestamp", Kind::string}, {"duration", Kind::string}}, {}, add_time});
}

}  // namespace berth::hcl
