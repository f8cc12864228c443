// Memory performance of this machine for one core, as limits for the stages: bytes per second of a sequential read, and
// ns per cache line in random order, by the size of the memory.
#pragma once

#include <cstdint>
#include <vector>

namespace berth::profile {

struct Roofline {
  struct Point {
    std::uint64_t bytes = 0;   ///< size of the memory
    double read_gb_per_s = 0;  ///< 10^9 bytes per second, sequential, four sums in parallel
    double line_ns = 0;        ///< per line of 64 B in random order, addresses known in advance
    double latency_ns = 0;     ///< per line in random order, each address read from the previous line
  };
  std::vector<Point> points;  ///< from the size of the first cache to beyond all caches

  /// ns per line in random order over `bytes` of memory, interpolated by the logarithm of the size.
  [[nodiscard]] double line_ns(double bytes) const;
  [[nodiscard]] double gb_per_s(double bytes) const;
};

/// The best of several passes over 32 KiB to 128 MiB; about a second.
[[nodiscard]] Roofline measure_roofline();

}  // namespace berth::profile
