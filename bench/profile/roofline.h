// What this machine's memory gives one core, as ceilings to hold the stages against: bytes per second of a sequential
// read, and ns per cache line read in random order, depending on how much memory that wanders over.
#pragma once

#include <cstdint>
#include <vector>

namespace berth::profile {

struct Roofline {
  struct Point {
    std::uint64_t bytes = 0;   ///< the memory that is read
    double read_gb_per_s = 0;  ///< 10^9 bytes per second, sequential, four sums in parallel
    double line_ns = 0;        ///< per line of 64 B in random order, addresses known beforehand
    double latency_ns = 0;     ///< per line in random order, each address read from the line before
  };
  std::vector<Point> points;  ///< from what fits into the first cache to what fits into none

  /// ns per line in random order over `bytes` of memory, between the points by the logarithm of the size.
  [[nodiscard]] double line_ns(double bytes) const;
  [[nodiscard]] double gb_per_s(double bytes) const;
};

/// The best of several passes over 32 KiB to 128 MiB; about a second.
[[nodiscard]] Roofline measure_roofline();

}  // namespace berth::profile
