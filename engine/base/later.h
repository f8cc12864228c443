// Adds durations from job files and requests to instants: a duration may be up to 2^63 - 1 ns, so the sum may
// overflow.
#pragma once

#include <cstdint>
#include <limits>

namespace berth::base {

/// Simulated clocks start before the year 2200, and durations of options end within a century. So no sum of the two
/// comes near the last instant.
inline constexpr std::int64_t kLatestStartNs = 7'258'118'400'000'000'000;
inline constexpr std::int64_t kCenturyNs = 3'155'760'000'000'000'000;

/// The instant `by` after `at`. On overflow: the last instant that 64 bits hold, which never comes.
[[nodiscard]] constexpr std::int64_t later(std::int64_t at, std::int64_t by) {
  constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();
  return at > 0 && by > kLast - at ? kLast : at + by;
}

/// The instant in nanoseconds, as above if it does not fit.
[[nodiscard]] constexpr std::int64_t instant_ns(std::int64_t seconds) {
  constexpr std::int64_t kNs = 1'000'000'000;  // of a second
  constexpr std::int64_t kFirst = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();
  if (seconds > kLast / kNs) return kLast;
  return seconds < kFirst / kNs ? kFirst : seconds * kNs;
}

}  // namespace berth::base
