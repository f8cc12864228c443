// Order statistics of a few values.
#pragma once

#include <span>
#include <vector>

namespace berth::stats {

/// 0 for no values.
[[nodiscard]] double minimum(std::span<const double> values);
/// The middle value, or the mean of the two in the middle; 0 for no values.
[[nodiscard]] double median(std::span<const double> values);
/// Linear between order statistics (Hyndman and Fan's type 7, what R and NumPy do); `share` in [0, 1]; 0 for no values.
[[nodiscard]] double quantile(std::span<const double> values, double share);
/// A median with an interval that needs no distribution: two of the values themselves, so many places from both ends
/// that the true median lies between them with a chance of at least 95 %, by the binomial distribution (David and
/// Nagaraja, Order Statistics, 2003, 7.1). Fewer than six values cannot give that: then it is the smallest and the
/// largest, with the chance that these have.
struct MedianInterval {
  std::size_t count = 0;
  double median = 0, low = 0, high = 0;
  double coverage = 0;  ///< the chance, by this many values; 0 for fewer than two
};
[[nodiscard]] MedianInterval median_interval(std::span<const double> values);
/// value / base - 1: how much more `value` is. 0 when both are 0, infinite when only `base` is.
[[nodiscard]] double relative_difference(double value, double base);

}  // namespace berth::stats
