// Hashes for maps that use the low bits of a hash as the bucket. Addresses, consecutive ids and pairs packed into one
// number repeat in their low bits, and std::hash returns integers unchanged.
#pragma once

#include <cstddef>
#include <cstdint>

namespace berth::base {

/// Mixes the bits: every bit of `x` affects every bit of the result.
[[nodiscard]] constexpr std::size_t spread_bits(std::uint64_t x) noexcept {
  x *= 0x9e3779b97f4a7c15ULL;
  return static_cast<std::size_t>(x ^ x >> 32);
}

/// Hashes numbers, and objects by their address.
struct BitHash {
  std::size_t operator()(std::uint64_t x) const noexcept { return spread_bits(x); }
  std::size_t operator()(const void* object) const noexcept {
    return spread_bits(static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(object)));
  }
};

}  // namespace berth::base
