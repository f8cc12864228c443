// Placements over time: does the rate hold as a cluster fills up?
#pragma once

#include <cstdint>
#include <vector>

namespace berth::sim {

/// What was placed by when, thinned evenly to at most kPoints points as it grows. One writer.
class RateSeries {
 public:
  static constexpr std::size_t kPoints = 1024;
  struct Point {
    double seconds = 0;
    std::uint64_t placed = 0;
  };

  /// `placed` in all by `seconds`; neither may decrease.
  void add(double seconds, std::uint64_t placed);
  /// From nothing at time 0 to the last one added.
  [[nodiscard]] std::vector<Point> points() const;
  /// Placements per second from the `from`-th to the `to`-th part of all placements, 0 <= from < to <= 1, linear
  /// between points. 0 when nothing was placed or no time passed.
  [[nodiscard]] double rate(double from, double to) const;

 private:
  std::vector<Point> kept_;
  Point last_;
  std::uint64_t stride_ = 1, seen_ = 0;
};

}  // namespace berth::sim
