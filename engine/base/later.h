// Instants that job files and requests set: a duration may be up to 2^63 - 1 ns, and now plus that is no number.
#pragma once

#include <cstdint>
#include <limits>

namespace berth::base {

/// The instant `by` after `at`; the last one that 64 bits hold, which never comes, where it lies beyond.
[[nodiscard]] constexpr std::int64_t later(std::int64_t at, std::int64_t by) {
  constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();
  return at > 0 && by > kLast - at ? kLast : at + by;
}

}  // namespace berth::base
