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
/// value / base - 1: how much more `value` is. 0 when both are 0, infinite when only `base` is.
[[nodiscard]] double relative_difference(double value, double base);

}  // namespace berth::stats
