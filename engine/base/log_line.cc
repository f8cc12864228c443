#include "base/log_line.h"

#include <algorithm>
#include <array>

#include "base/json.h"
#include "base/text.h"
#include "base/time.h"

namespace berth::base {
namespace {

constexpr std::array<std::string_view, 5> kLevels = {"trace", "debug", "info", "warn", "error"};
constexpr std::array<std::string_view, 5> kShownLevels = {"[TRACE]", "[DEBUG]", "[INFO] ", "[WARN] ", "[ERROR]"};

/// RFC 3339 with three digits of the second.
std::string shown_time(std::int64_t time_ns) {
  constexpr std::int64_t kMillisecond = 1'000'000;
  std::string out = to_rfc3339(Time{time_ns / kSecond * kSecond});
  const std::string fraction = std::to_string(1000 + time_ns % kSecond / kMillisecond).substr(1);
  out.insert(out.size() - 1, "." + fraction);
  return out;
}

}  // namespace

std::optional<LogLevel> parse_log_level(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = ascii_lower(c);
  const auto* const found = std::find(kLevels.begin(), kLevels.end(), lower);
  if (found == kLevels.end()) return std::nullopt;
  return static_cast<LogLevel>(found - kLevels.begin());
}

std::string LogLine::text() const {
  std::string out = shown_time(time_ns);
  out.append(" ").append(kShownLevels[static_cast<std::size_t>(level)]).append(" ").append(module).append(": ");
  out.append(message);
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const auto& [key, value] = fields[i];
    const bool plain = value.find_first_of(" \"\\\n\r\t") == std::string::npos;
    out.append(i == 0 ? ": " : " ").append(key).append("=").append(plain ? value : go_quote(value));
  }
  return out.append("\n");
}

std::string LogLine::json() const {
  json::Value out = json::Value::object();
  out.set("@level", std::string(kLevels[static_cast<std::size_t>(level)]));
  out.set("@message", std::string(message)), out.set("@module", std::string(module));
  out.set("@timestamp", shown_time(time_ns));
  for (const auto& [key, value] : fields) out.set(key, value);
  return json::to_text(out) + "\n";
}

}  // namespace berth::base
