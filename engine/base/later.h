// Adds durations from job files and requests to instants: a duration may be up to 2^63 - 1 ns, so the sum may
// overflow.
#pragma once

#include <cstdint>
#include <limits>

namespace berth::base {

/// The instant `by` after `at`. On overflow: the last instant that 64 bits hold, which never comes.
[[nodiscard]] constexpr std::int64_t later(std::int64_t at, std::int64_t by) {
  constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();
  return at > 0 && by > kLast - at ? kLast : at + by;
}

}  // namespace berth::base
