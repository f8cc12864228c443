#include "stats/summary.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace berth::stats {

double minimum(std::span<const double> values) {
  return values.empty() ? 0 : *std::min_element(values.begin(), values.end());
}

double median(std::span<const double> values) { return quantile(values, 0.5); }

double quantile(std::span<const double> values, double share) {
  if (values.empty()) return 0;
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const double position = std::clamp(share, 0.0, 1.0) * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (position - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

double relative_difference(double value, double base) {
  if (value == base) return 0;
  if (base == 0) return std::copysign(std::numeric_limits<double>::infinity(), value);
  return (value - base) / std::abs(base);
}

}  // namespace berth::stats
