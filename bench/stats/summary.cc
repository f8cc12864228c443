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
  if (sorted[below] == sorted[above]) return sorted[below];  // infinite ones too: their difference is no number
  return sorted[below] + (position - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

MedianInterval median_interval(std::span<const double> values) {
  constexpr double kCoverage = 0.95;
  MedianInterval out{values.size(), median(values), median(values), median(values), 0};
  if (values.size() < 2) return out;
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  // The true median is below the k-th smallest value with P(B < k), B binomial(n, 1/2). In logarithms, because 2^-n
  // underflows.
  const auto n = static_cast<double>(sorted.size());
  double tail = 0;
  for (std::size_t k = 0; 2 * k + 1 < sorted.size(); ++k) {
    const auto at = static_cast<double>(k);
    tail += std::exp(std::lgamma(n + 1) - std::lgamma(at + 1) - std::lgamma(n - at + 1) - n * std::log(2.0));
    if (k > 0 && 1 - 2 * tail < kCoverage) break;
    out.low = sorted[k], out.high = sorted[sorted.size() - 1 - k], out.coverage = 1 - 2 * tail;
  }
  return out;
}

double relative_difference(double value, double base) {
  if (value == base) return 0;
  if (base == 0) return std::copysign(std::numeric_limits<double>::infinity(), value);
  return (value - base) / std::abs(base);
}

}  // namespace berth::stats
