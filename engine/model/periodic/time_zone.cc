#include <cctz/time_zone.h>

#include <cstdlib>
#include <filesystem>

#include "model/periodic/cron.h"

namespace berth::model {
namespace {

bool is_safe_name(const std::string& name) {
  return !name.empty() && name[0] != '/' && name.find("..") == std::string::npos &&
         name.find('\\') == std::string::npos && name.find('\0') == std::string::npos && name.size() < 200;
}

}  // namespace

std::optional<TimeZone> TimeZone::load(const std::string& name) {
  if (name.empty() || name == "UTC") return TimeZone(cctz::utc_time_zone());
  if (!is_safe_name(name)) return std::nullopt;
  // cctz stores each name that it is asked for, also those without a file. So it gets only names of files, and these in
  // one spelling: a request could make up any number of "Europe//Berlin" and "./UTC".
  std::string key = std::filesystem::path(name).lexically_normal();
  const char* folder = std::getenv("TZDIR");
  const std::filesystem::path zones(folder && *folder ? folder : "/usr/share/zoneinfo");  // as cctz
  std::error_code error;
  if (!std::filesystem::is_regular_file(zones / key, error)) return std::nullopt;
  // Files under right/ count leap seconds, which cctz refuses and Unix time does not have.
  if (key.starts_with("right/")) key.erase(0, 6);
  cctz::time_zone zone;
  if (!cctz::load_time_zone(key, &zone)) return std::nullopt;
  return TimeZone(zone);
}

std::int64_t TimeZone::offset_s(std::int64_t utc_s) const {
  return zone_.lookup(cctz::time_point<cctz::seconds>(cctz::seconds(utc_s))).offset;
}

bool is_time_zone(const std::string& name) { return TimeZone::load(name).has_value(); }

}  // namespace berth::model
