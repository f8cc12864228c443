#include "stats/noise.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "stats/summary.h"

namespace berth::stats {
namespace {

/// Correction for small samples: resampling n values gives medians whose spread is too small by sqrt((n - 1) / n), like
/// the standard deviation of a sample.
double small_sample_factor(std::size_t n) { return std::sqrt(static_cast<double>(n) / static_cast<double>(n - 1)); }

}  // namespace

double aa_noise(std::span<const double> same, std::size_t count, std::uint64_t seed, int rounds) {
  if (same.size() < 3 || count == 0) return std::numeric_limits<double>::infinity();
  std::mt19937_64 random(seed);  // the standard defines its numbers, but not distributions, so none is used
  const auto draw = [&](std::vector<double>& out) {
    for (double& value : out) value = same[random() % same.size()];
    return median(out);
  };
  std::vector<double> a(count), b(count), differences;
  differences.reserve(static_cast<std::size_t>(rounds));
  for (int i = 0; i < rounds; ++i) {
    const double base = draw(a), head = draw(b);
    differences.push_back(std::abs(relative_difference(head, base)));
  }
  return quantile(differences, 0.95) * small_sample_factor(same.size());
}

}  // namespace berth::stats
