// Order statistics of a few values.
#pragma once

#include <span>
#include <vector>

namespace berth::stats {

/// 0 for no values.
[[nodiscard]] double minimum(std::span<const double> values);
/// The middle value, or the mean of the two in the middle; 0 for no values.
[[nodiscard]] double median(std::span<const double> values);
/// Linear between order statistics (Hyndman and Fan's type 7, as R and NumPy); `share` in [0, 1]; 0 for no values.
[[nodiscard]] double quantile(std::span<const double> values, double share);
/// A median with a distribution-free interval: two of the values, chosen by the binomial distribution so that the true
/// median is between them with a probability of at least 95 % (David and Nagaraja, Order Statistics, 2003, 7.1). Fewer
/// than six values cannot give that: then the smallest and the largest, with their probability.
struct MedianInterval {
  std::size_t count = 0;
  double median = 0, low = 0, high = 0;
  double coverage = 0;  ///< the actual probability; 0 for fewer than two values
};
[[nodiscard]] MedianInterval median_interval(std::span<const double> values);
/// value / base - 1. 0 if both are 0, infinite if only `base` is 0.
[[nodiscard]] double relative_difference(double value, double base);

}  // namespace berth::stats
