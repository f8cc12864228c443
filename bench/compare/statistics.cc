#include "compare/statistics.h"

#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>

namespace berth::compare {
namespace {

/// Half the width of a 95 % interval in standard errors.
double t_quantile(std::size_t count) {
  const boost::math::students_t distribution(static_cast<double>(count - 1));
  return boost::math::quantile(boost::math::complement(distribution, 0.025));
}

}  // namespace

Summary summarise(std::span<const double> values) {
  Summary out;
  out.count = values.size();
  if (values.empty()) return out;
  const auto n = static_cast<double>(values.size());
  for (const double v : values) out.mean += v / n;
  out.low = out.high = out.mean;
  if (values.size() < 2) return out;
  double squares = 0;
  for (const double v : values) squares += (v - out.mean) * (v - out.mean);
  out.deviation = std::sqrt(squares / (n - 1));
  const double half = t_quantile(values.size()) * out.deviation / std::sqrt(n);
  out.low = out.mean - half, out.high = out.mean + half;
  return out;
}

PairedTest paired_test(std::span<const double> a, std::span<const double> b) {
  std::vector<double> differences;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    if (!std::isnan(a[i]) && !std::isnan(b[i])) differences.push_back(a[i] - b[i]);
  const Summary s = summarise(differences);
  PairedTest out{.pairs = s.count, .difference = s.mean, .low = s.low, .high = s.high};
  if (s.count < 2) return out;
  // Differences that are all the same up to rounding have no spread to test against.
  if (s.deviation <= 1e-12 * std::abs(s.mean) || s.deviation == 0) {
    if (s.mean == 0) return out;
    out.p = 0, out.effect = std::copysign(std::numeric_limits<double>::infinity(), s.mean), out.shown = true;
    return out;
  }
  out.effect = s.mean / s.deviation;
  const double t = s.mean / (s.deviation / std::sqrt(static_cast<double>(s.count)));
  const boost::math::students_t distribution(static_cast<double>(s.count - 1));
  out.p = 2 * boost::math::cdf(boost::math::complement(distribution, std::abs(t)));
  out.shown = out.p < 0.05;
  return out;
}

const char* effect_words(double effect) {
  const double size = std::abs(effect);
  return size >= 0.8 ? "large" : size >= 0.5 ? "medium" : size >= 0.2 ? "small" : "none";
}

std::vector<bool> pareto_front(const std::vector<std::vector<double>>& points) {
  std::vector<bool> out(points.size(), true);
  for (std::size_t i = 0; i < points.size(); ++i)
    for (std::size_t j = 0; j < points.size() && out[i]; ++j) {
      bool at_least = true, better = false;
      for (std::size_t q = 0; q < points[i].size(); ++q) {
        at_least &= points[j][q] >= points[i][q];
        better |= points[j][q] > points[i][q];
      }
      if (at_least && better) out[i] = false;
    }
  return out;
}

}  // namespace berth::compare
