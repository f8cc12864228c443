// Placements over time, to see whether the rate holds as a cluster fills up.
#pragma once

#include <cstdint>
#include <vector>

namespace berth::sim {

/// Total placements over time, thinned evenly to at most kPoints points as it grows. One writer.
class RateSeries {
 public:
  static constexpr std::size_t kPoints = 1024;
  struct Point {
    double seconds = 0;
    std::uint64_t placed = 0;
  };

  /// Adds the total `placed` at `seconds`; neither may decrease.
  void add(double seconds, std::uint64_t placed);
  /// The points from (0, 0) to the last one added.
  [[nodiscard]] std::vector<Point> points() const;
  /// Placements per second between the shares `from` and `to` of all placements, 0 <= from < to <= 1, linear between
  /// points. 0 if nothing was placed or no time passed.
  [[nodiscard]] double rate(double from, double to) const;

 private:
  std::vector<Point> kept_;
  Point last_;
  std::uint64_t stride_ = 1, seen_ = 0;
};

}  // namespace berth::sim
