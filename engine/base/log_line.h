// Lines of a log, as text like Nomad's agent writes it or as JSON with the members of its log:
//
//   2026-11-29T14:00:00.000Z [INFO]  worker: evaluation processed: job_id=web status=complete
//   {"@level":"info","@message":"evaluation processed","@module":"worker","@timestamp":"2026-11-29T14:00:00.000Z",
//    "job_id":"web","status":"complete"}
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth::base {

enum class LogLevel : std::uint8_t { trace, debug, info, warn, error };

/// Reads the name of a level, in upper or lower case; nullopt: there is no such level.
[[nodiscard]] std::optional<LogLevel> parse_log_level(std::string_view text);

/// Facts of a line. In text, values with spaces or quotes are quoted.
using LogFields = std::vector<std::pair<std::string_view, std::string>>;

struct LogLine {
  LogLevel level = LogLevel::info;
  std::int64_t time_ns = 0;  ///< unix
  std::string_view module, message;
  LogFields fields = {};

  /// Ends with a line break.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::string json() const;
};

}  // namespace berth::base
