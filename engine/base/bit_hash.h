// Hashes for maps that take the low bits of a hash for the place: those of addresses, of ids beside each other and of
// pairs packed into one number repeat, and std::hash leaves them as they are.
#pragma once

#include <cstddef>
#include <cstdint>

namespace berth::base {

/// Every bit of `x` has a say in every bit of the result.
[[nodiscard]] constexpr std::size_t spread_bits(std::uint64_t x) noexcept {
  x *= 0x9e3779b97f4a7c15ULL;
  return static_cast<std::size_t>(x ^ x >> 32);
}

/// Of numbers, and of objects by their address.
struct BitHash {
  std::size_t operator()(std::uint64_t x) const noexcept { return spread_bits(x); }
  std::size_t operator()(const void* object) const noexcept {
    return spread_bits(static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(object)));
  }
};

}  // namespace berth::base
