// Time zone files (RFC 8536): the list of changes and, for the time after the last one, the POSIX rule at the end.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>

#include "base/text.h"
#include "model/periodic/cron.h"

namespace berth::model {
namespace {

using std::chrono::sys_days;
constexpr std::int64_t kDaySeconds = 86'400;

std::int64_t big_endian(std::string_view data, std::size_t at, std::size_t bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) value = value << 8 | static_cast<std::uint8_t>(data[at + i]);
  if (bytes == 4) return static_cast<std::int32_t>(static_cast<std::uint32_t>(value));
  return static_cast<std::int64_t>(value);
}

struct Counts {
  std::size_t is_ut, is_std, leap, time, type, chars;
  [[nodiscard]] std::size_t bytes(std::size_t time_bytes) const {
    return time * time_bytes + time + type * 6 + chars + leap * (time_bytes + 4) + is_std + is_ut;
  }
};

std::optional<Counts> read_counts(std::string_view data, std::size_t at) {
  if (data.size() < at + 44 || data.substr(at, 4) != "TZif") return std::nullopt;
  std::array<std::size_t, 6> n{};
  for (std::size_t i = 0; i < 6; ++i) {
    const std::int64_t value = big_endian(data, at + 20 + i * 4, 4);
    if (value < 0 || value > 100'000) return std::nullopt;
    n[i] = static_cast<std::size_t>(value);
  }
  return Counts{n[0], n[1], n[2], n[3], n[4], n[5]};
}

/// One half of a POSIX rule such as `CET-1CEST,M3.5.0,M10.5.0/3`.
struct RuleReader {
  std::string_view rest;

  bool name() {
    std::size_t end = 0;
    if (rest.starts_with('<')) {
      end = rest.find('>');
      if (end == std::string_view::npos) return false;
      ++end;
    } else {
      while (end < rest.size() && ((rest[end] >= 'a' && rest[end] <= 'z') || (rest[end] >= 'A' && rest[end] <= 'Z')))
        ++end;
    }
    rest.remove_prefix(end);
    return end >= 3;
  }
  std::optional<std::int64_t> number() {
    std::size_t end = 0;
    while (end < rest.size() && rest[end] >= '0' && rest[end] <= '9') ++end;
    const auto value = base::parse_uint64(rest.substr(0, end));
    if (!value || *value > 100'000) return std::nullopt;
    rest.remove_prefix(end);
    return static_cast<std::int64_t>(*value);
  }
  bool take(char c) {
    if (!rest.starts_with(c)) return false;
    rest.remove_prefix(1);
    return true;
  }
  /// hh[:mm[:ss]] with a sign, in seconds.
  std::optional<std::int64_t> clock() {
    const bool negative = take('-');
    if (!negative) take('+');
    std::int64_t total = 0, unit = 3600;
    for (int i = 0; i < 3; ++i, unit /= 60) {
      const auto part = number();
      if (!part) return std::nullopt;
      total += *part * unit;
      if (!take(':')) break;
    }
    return negative ? -total : total;
  }
};

struct RuleDate {
  std::int64_t month = 0, week = 0, weekday = 0, at_s = 2 * 3600;

  [[nodiscard]] std::int64_t local_s(int year) const {
    using namespace std::chrono;
    const auto m = std::chrono::month(static_cast<unsigned>(month));
    const auto first = sys_days(std::chrono::year(year) / m / 1);
    const std::int64_t first_weekday = weekday_of(first);
    std::int64_t day = (weekday - first_weekday + 7) % 7 + (week - 1) * 7;
    const auto last = static_cast<std::int64_t>(
        static_cast<unsigned>(year_month_day_last(std::chrono::year(year), m / std::chrono::last).day()));
    while (day >= last) day -= 7;
    return (first.time_since_epoch().count() + day) * kDaySeconds + at_s;
  }
  static std::int64_t weekday_of(sys_days day) {
    return static_cast<std::int64_t>(std::chrono::weekday(day).c_encoding());
  }
};

struct Rule {
  std::int64_t standard_s = 0, summer_s = 0;
  std::optional<RuleDate> begin, end;
};

std::optional<RuleDate> read_rule_date(RuleReader& reader) {
  RuleDate date;
  if (!reader.take(',') || !reader.take('M')) return std::nullopt;
  const auto month = reader.number();
  if (!month || !reader.take('.')) return std::nullopt;
  const auto week = reader.number();
  if (!week || !reader.take('.')) return std::nullopt;
  const auto weekday = reader.number();
  if (!weekday || *month < 1 || *month > 12 || *week < 1 || *week > 5 || *weekday > 6) return std::nullopt;
  date.month = *month, date.week = *week, date.weekday = *weekday;
  if (reader.take('/')) {
    const auto at = reader.clock();
    if (!at) return std::nullopt;
    date.at_s = *at;
  }
  return date;
}

std::optional<Rule> read_rule(std::string_view text) {
  RuleReader reader{text};
  Rule rule;
  if (!reader.name()) return std::nullopt;
  const auto offset = reader.clock();
  if (!offset) return std::nullopt;
  rule.standard_s = -*offset;
  if (reader.rest.empty()) return rule;
  if (!reader.name()) return std::nullopt;
  rule.summer_s = rule.standard_s + 3600;
  if (!reader.rest.empty() && reader.rest[0] != ',') {
    const auto summer = reader.clock();
    if (!summer) return std::nullopt;
    rule.summer_s = -*summer;
  }
  rule.begin = read_rule_date(reader);
  rule.end = read_rule_date(reader);
  if (!rule.begin || !rule.end) return std::nullopt;
  return rule;
}

std::int64_t rule_offset(const Rule& rule, std::int64_t utc_s) {
  if (!rule.begin) return rule.standard_s;
  const std::int64_t local = utc_s + rule.standard_s;
  const auto date =
      std::chrono::year_month_day(sys_days(std::chrono::days(local / kDaySeconds - (local % kDaySeconds < 0))));
  const int year = static_cast<int>(date.year());
  const std::int64_t begin = rule.begin->local_s(year) - rule.standard_s;
  const std::int64_t end = rule.end->local_s(year) - rule.summer_s;
  const bool summer = begin < end ? utc_s >= begin && utc_s < end : utc_s >= begin || utc_s < end;
  return summer ? rule.summer_s : rule.standard_s;
}

bool is_safe_name(const std::string& name) {
  return !name.empty() && name[0] != '/' && name.find("..") == std::string::npos &&
         name.find('\\') == std::string::npos && name.find('\0') == std::string::npos && name.size() < 200;
}

}  // namespace

std::shared_ptr<const TimeZone> TimeZone::load(const std::string& name) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<const TimeZone>> cache;
  const std::lock_guard lock(mutex);
  // "Europe//Berlin" and "./UTC" are spellings of one file: a request could make up any number of them.
  const std::string key = std::filesystem::path(name).lexically_normal();
  if (const auto at = cache.find(key); at != cache.end()) return at->second;
  auto zone = std::make_shared<TimeZone>();
  if (name.empty() || name == "UTC") {
    zone->changes_ = {{std::numeric_limits<std::int64_t>::min(), 0}};
    return cache[key] = std::move(zone);
  }
  if (!is_safe_name(name)) return nullptr;
  const char* folder = std::getenv("TZDIR");
  const std::string path = std::string(folder ? folder : "/usr/share/zoneinfo") + "/" + name;
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return nullptr;  // "Europe" is a folder, and reading one throws
  std::ifstream file(path, std::ios::binary);
  const std::string data{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  std::size_t at = 0, time_bytes = 4;
  auto counts = read_counts(data, 0);
  if (!counts) return nullptr;
  if (data[4] >= '2') {  // the second block repeats everything with 64-bit times
    at = 44 + counts->bytes(4);
    counts = read_counts(data, at);
    time_bytes = 8;
    if (!counts) return nullptr;
  }
  at += 44;
  if (data.size() < at + counts->bytes(time_bytes) || counts->type == 0) return nullptr;
  const std::size_t types_at = at + counts->time * (time_bytes + 1);
  const auto offset_of = [&](std::size_t type) { return big_endian(data, types_at + type * 6, 4); };
  zone->changes_.push_back({std::numeric_limits<std::int64_t>::min(), offset_of(0)});
  for (std::size_t i = 0; i < counts->time; ++i) {
    const auto type = static_cast<std::uint8_t>(data[at + counts->time * time_bytes + i]);
    if (type >= counts->type) return nullptr;
    zone->changes_.push_back({big_endian(data, at + i * time_bytes, time_bytes), offset_of(type)});
  }
  if (time_bytes == 8) {
    std::string_view tail = std::string_view(data).substr(at + counts->bytes(8));
    if (tail.starts_with('\n')) tail.remove_prefix(1);
    zone->rule_ = std::string(tail.substr(0, tail.find('\n')));
  }
  return cache[key] = std::move(zone);
}

std::int64_t TimeZone::offset_s(std::int64_t utc_s) const {
  if (!rule_.empty() && utc_s >= changes_.back().at_s)
    if (const auto rule = read_rule(rule_)) return rule_offset(*rule, utc_s);
  const auto after = std::upper_bound(changes_.begin(), changes_.end(), utc_s,
                                      [](std::int64_t value, const Change& change) { return value < change.at_s; });
  return after == changes_.begin() ? changes_.front().offset_s : std::prev(after)->offset_s;
}

bool is_time_zone(const std::string& name) { return TimeZone::load(name) != nullptr; }

}  // namespace berth::model
