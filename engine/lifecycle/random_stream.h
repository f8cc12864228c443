// A named stream of random numbers (R-CTRL-1704), used only where a rule says "uniform" or "random".
#pragma once

#include <cstdint>

namespace berth::lifecycle {

/// SplitMix64 (Steele, Lea, Flood 2014), as in the broker's streams.
class RandomStream {
 public:
  explicit RandomStream(std::uint64_t seed) : state_(seed) {}
  /// Uniform in [0, n); 0 without drawing for n <= 1. Biased by less than n / 2^64.
  [[nodiscard]] std::int64_t below(std::int64_t n) {
    if (n <= 1) return 0;
    std::uint64_t x = state_ += 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    x ^= x >> 31;
    return static_cast<std::int64_t>(x % static_cast<std::uint64_t>(n));
  }

 private:
  std::uint64_t state_;
};

}  // namespace berth::lifecycle
