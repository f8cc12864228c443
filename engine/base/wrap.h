// Signed 64-bit arithmetic that wraps, as the reference's integers do; plain `+` would be undefined on overflow
// (R-MODEL-3).
#pragma once

#include <cstdint>

namespace berth::base {

constexpr std::int64_t wrap_add(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
constexpr std::int64_t wrap_sub(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}
constexpr std::int64_t wrap_mul(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

/// `sum` += `more`.
constexpr void wrap_add_to(std::int64_t& sum, std::int64_t more) { sum = wrap_add(sum, more); }
/// `sum` -= `less`.
constexpr void wrap_sub_from(std::int64_t& sum, std::int64_t less) { sum = wrap_sub(sum, less); }

}  // namespace berth::base
