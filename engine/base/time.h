// Instants: nanoseconds since 1970 UTC, and "no time", which Nomad writes as year 1 and berth keeps apart (R-MODEL-5).
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace berth::base {

struct Time {
  static constexpr std::int64_t kUnset = std::numeric_limits<std::int64_t>::min();
  std::int64_t ns = kUnset;

  [[nodiscard]] bool is_zero() const { return ns == kUnset; }
  friend auto operator<=>(const Time&, const Time&) = default;
};

inline constexpr std::int64_t kSecond = 1'000'000'000;

/// RFC 3339 with up to nine fraction digits, written in UTC without trailing zeros; the zero time is year 1.
[[nodiscard]] std::string to_rfc3339(Time time);
[[nodiscard]] std::optional<Time> parse_rfc3339(std::string_view text);

/// Explains why parse_rfc3339() rejects `text`: it is no such time, or is outside the range of nanoseconds,
/// 1677-09-21T00:12:44Z to 2262-04-11T23:47:16Z. Completes a sentence that begins with the text: "is not ...".
[[nodiscard]] const char* rfc3339_problem(std::string_view text);

/// A duration as Go prints it: `1m30s`, `0s`, `1.5s`, `100ms`.
[[nodiscard]] std::string duration_text(std::int64_t ns);

}  // namespace berth::base
