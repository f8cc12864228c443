// Seeded random numbers that are the same on every machine: splitmix64 with one named stream per purpose, so that an
// added draw for one purpose does not shift the others. The standard library's distributions differ between
// implementations.
#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>

#include "base/uuid.h"

namespace berth::base {

/// splitmix64's finaliser over `x` + its increment.
[[nodiscard]] constexpr std::uint64_t mix64(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

/// The identifier of object `number` of a kind. Both halves mix (kind, number), so any node's ID can be computed
/// without a list. With `salt` 0, kind 1 (nodes) and kind 2 (evaluations) give the identifiers of Nomad's recorded
/// grid.
[[nodiscard]] constexpr base::Uuid generated_id(std::uint32_t kind, std::uint32_t number, std::uint64_t salt = 0) {
  const std::uint64_t key = (static_cast<std::uint64_t>(kind) << 32 | number) ^ salt;
  return {mix64(key), mix64(~key)};
}

class Random {
 public:
  /// The stream called `purpose` of the run with this seed.
  Random(std::uint64_t seed, std::string_view purpose) : state_(mix64(seed)) {
    for (const char c : purpose) state_ = mix64(state_ ^ static_cast<unsigned char>(c));
  }
  [[nodiscard]] std::uint64_t next() {
    const std::uint64_t value = mix64(state_);
    state_ += 0x9e3779b97f4a7c15ULL;
    return value;
  }
  /// Uniform in [0, bound); bound > 0. The bias of the multiply-shift is below 2^-32 for every bound used here.
  [[nodiscard]] std::uint64_t below(std::uint64_t bound) {
    return static_cast<std::uint64_t>((static_cast<Wide>(next()) * bound) >> 64);
  }
  /// Uniform in [0, 1), a multiple of 2^-53.
  [[nodiscard]] double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  /// Exponential with the given mean: the gap between arrivals of a Poisson process.
  [[nodiscard]] double exponential(double mean) { return -mean * std::log1p(-unit()); }

 private:
  __extension__ using Wide = unsigned __int128;
  std::uint64_t state_;
};

}  // namespace berth::base
