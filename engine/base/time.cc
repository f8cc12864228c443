#include "base/time.h"

#include <cstdio>

namespace berth::base {
namespace {

// Days since 1970-01-01 of a proleptic Gregorian date, and back (Howard Hinnant's public-domain algorithms).
std::int64_t days_from_civil(std::int64_t y, unsigned m, unsigned d) {
  y -= m <= 2;
  const std::int64_t era = (y >= 0 ? y : y - 399) / 400;
  const auto yoe = static_cast<unsigned>(y - era * 400);
  const unsigned doy = (153 * (m > 2 ? m - 3 : m + 9) + 2) / 5 + d - 1;
  const unsigned doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
  return era * 146097 + static_cast<std::int64_t>(doe) - 719468;
}

struct Civil {
  std::int64_t year;
  unsigned month, day;
};
Civil civil_from_days(std::int64_t z) {
  z += 719468;
  const std::int64_t era = (z >= 0 ? z : z - 146096) / 146097;
  const auto doe = static_cast<unsigned>(z - era * 146097);
  const unsigned yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
  const unsigned doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
  const unsigned mp = (5 * doy + 2) / 153;
  const unsigned month = mp < 10 ? mp + 3 : mp - 9;
  return {static_cast<std::int64_t>(yoe) + era * 400 + (month <= 2), month, doy - (153 * mp + 2) / 5 + 1};
}

constexpr std::int64_t kYearOne = -62'135'596'800;  ///< 0001-01-01T00:00:00, the zero time, in any time zone

bool digits(std::string_view text, std::size_t at, std::size_t count, unsigned& out) {
  if (at + count > text.size()) return false;
  out = 0;
  for (std::size_t i = at; i < at + count; ++i) {
    if (text[i] < '0' || text[i] > '9') return false;
    out = out * 10 + static_cast<unsigned>(text[i] - '0');
  }
  return true;
}

}  // namespace

std::string to_rfc3339(Time time) {
  if (time.is_zero()) return "0001-01-01T00:00:00Z";
  std::int64_t seconds = time.ns / kSecond;
  std::int64_t fraction = time.ns % kSecond;
  if (fraction < 0) fraction += kSecond, --seconds;
  std::int64_t days = seconds / 86400;
  std::int64_t rest = seconds % 86400;
  if (rest < 0) rest += 86400, --days;
  const Civil c = civil_from_days(days);
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%04lld-%02u-%02uT%02d:%02d:%02d", static_cast<long long>(c.year), c.month,
                c.day, static_cast<int>(rest / 3600), static_cast<int>(rest / 60 % 60), static_cast<int>(rest % 60));
  std::string out = buffer;
  if (fraction != 0) {
    std::snprintf(buffer, sizeof buffer, ".%09lld", static_cast<long long>(fraction));
    out += buffer;
    while (out.back() == '0') out.pop_back();
  }
  return out + "Z";
}

namespace {

/// Seconds since 1970 and nanoseconds after them: years 0 to 9999, more than a Time can hold.
struct Instant {
  std::int64_t seconds, fraction;
};

std::optional<Instant> parse_instant(std::string_view text) {
  unsigned year, month, day, hour, minute, second;
  if (text.size() < 20 || !digits(text, 0, 4, year) || text[4] != '-' || !digits(text, 5, 2, month) || text[7] != '-' ||
      !digits(text, 8, 2, day) || (text[10] != 'T' && text[10] != 't') || !digits(text, 11, 2, hour) ||
      text[13] != ':' || !digits(text, 14, 2, minute) || text[16] != ':' || !digits(text, 17, 2, second))
    return std::nullopt;
  if (month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 || second > 59) return std::nullopt;
  std::size_t at = 19;
  std::int64_t fraction = 0;
  if (text[at] == '.') {
    std::int64_t scale = kSecond / 10;
    std::size_t count = 0;
    for (++at; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at, ++count) {
      fraction += (text[at] - '0') * scale;
      scale /= 10;
    }
    if (count == 0) return std::nullopt;
  }
  std::int64_t offset = 0;
  if (at + 1 == text.size() && (text[at] == 'Z' || text[at] == 'z')) {
    // UTC
  } else if (at + 6 == text.size() && (text[at] == '+' || text[at] == '-')) {
    unsigned oh, om;
    if (!digits(text, at + 1, 2, oh) || text[at + 3] != ':' || !digits(text, at + 4, 2, om) || oh > 23 || om > 59)
      return std::nullopt;
    offset = (text[at] == '-' ? -1 : 1) * static_cast<std::int64_t>(oh * 3600 + om * 60);
  } else {
    return std::nullopt;
  }
  const std::int64_t local = days_from_civil(year, month, day) * 86400 + hour * 3600 + minute * 60 + second;
  return Instant{local == kYearOne ? local : local - offset, fraction};
}

}  // namespace

std::optional<Time> parse_rfc3339(std::string_view text) {
  const auto instant = parse_instant(text);
  if (!instant) return std::nullopt;
  if (instant->seconds == kYearOne && instant->fraction == 0) return Time{};
  std::int64_t ns = 0;
  if (__builtin_mul_overflow(instant->seconds, kSecond, &ns) || __builtin_add_overflow(ns, instant->fraction, &ns))
    return std::nullopt;
  return Time{ns};
}

const char* rfc3339_problem(std::string_view text) {
  const auto instant = parse_instant(text);
  if (!instant) return "is not an RFC 3339 time";
  return instant->seconds > 0 ? "lies after 2262-04-11T23:47:16Z, the last second that nanoseconds can tell"
                              : "lies before 1677-09-21T00:12:44Z, the first second that nanoseconds can tell";
}

std::string duration_text(std::int64_t ns) {
  if (ns == 0) return "0s";
  const bool negative = ns < 0;
  auto rest = negative ? ~static_cast<std::uint64_t>(ns) + 1 : static_cast<std::uint64_t>(ns);
  auto with_fraction = [](std::uint64_t value, std::uint64_t unit, const char* suffix) {
    std::string out = std::to_string(value / unit);
    if (std::uint64_t fraction = value % unit; fraction != 0) {
      std::string tail = std::to_string(fraction + unit).substr(1);
      while (tail.back() == '0') tail.pop_back();
      out += "." + tail;
    }
    return out + suffix;
  };
  std::string out = negative ? "-" : "";
  if (rest < 1'000) return out + std::to_string(rest) + "ns";
  if (rest < 1'000'000) return out + with_fraction(rest, 1'000, "\xC2\xB5s");
  if (rest < 1'000'000'000) return out + with_fraction(rest, 1'000'000, "ms");
  constexpr auto kS = static_cast<std::uint64_t>(kSecond);
  const std::uint64_t hours = rest / (3600 * kS);
  rest %= 3600 * kS;
  const std::uint64_t minutes = rest / (60 * kS);
  rest %= 60 * kS;
  if (hours) out += std::to_string(hours) + "h";
  if (hours || minutes) out += std::to_string(minutes) + "m";
  return out + with_fraction(rest, kS, "s");
}

}  // namespace berth::base
