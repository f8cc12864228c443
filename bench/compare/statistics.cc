#include "compare/statistics.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>

#include "stats/rank_test.h"

namespace berth::compare {
namespace {

/// In double: valgrind, used by `berth gate --instructions`, does not support wider types, and Boost's tables for these
/// throw there before main().
using StudentsT =
    boost::math::students_t_distribution<double,
                                         boost::math::policies::policy<boost::math::policies::promote_double<false>>>;

/// Half the width of a 95 % interval in standard errors.
double t_quantile(std::size_t count) {
  const StudentsT distribution(static_cast<double>(count - 1));
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

std::vector<double> without_nan(std::vector<double> values) {
  std::erase_if(values, [](double v) { return std::isnan(v); });
  return values;
}

PairedTest paired_test(std::span<const double> a, std::span<const double> b) {
  std::vector<double> differences;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    if (!std::isnan(a[i]) && !std::isnan(b[i])) differences.push_back(a[i] - b[i]);
  const Summary s = summarise(differences);
  PairedTest out{.pairs = s.count, .difference = s.mean, .low = s.low, .high = s.high};
  out.p_ranks = wilcoxon_p(differences);
  if (s.count < 2) return out;
  // Differences that are equal up to rounding have no spread for a t test: the ranks decide.
  if (s.deviation <= 1e-12 * std::abs(s.mean) || s.deviation == 0) {
    if (s.mean == 0) return out;
    out.p = out.p_adjusted = out.p_ranks, out.shown = out.p < kSignificance;
    out.effect = std::copysign(std::numeric_limits<double>::infinity(), s.mean);
    return out;
  }
  out.effect = s.mean / s.deviation;
  const double t = s.mean / (s.deviation / std::sqrt(static_cast<double>(s.count)));
  const StudentsT distribution(static_cast<double>(s.count - 1));
  out.p = 2 * boost::math::cdf(boost::math::complement(distribution, std::abs(t)));
  out.p_adjusted = out.p, out.shown = out.p < kSignificance;
  return out;
}

double wilcoxon_p(std::span<const double> differences) {
  constexpr std::size_t kExactMax = 50;
  std::vector<double> sizes;
  for (const double d : differences)
    if (d != 0 && !std::isnan(d)) sizes.push_back(d);
  const std::size_t n = sizes.size();
  if (n == 0) return 1;
  std::sort(sizes.begin(), sizes.end(), [](double a, double b) { return std::abs(a) < std::abs(b); });
  // Doubled ranks are integers even if equal sizes share a mean rank.
  std::vector<std::size_t> ranks2(n);
  double ties = 0;
  for (std::size_t i = 0; i < n;) {
    std::size_t j = i;
    while (j < n && std::abs(sizes[j]) == std::abs(sizes[i])) ++j;
    for (std::size_t k = i; k < j; ++k) ranks2[k] = i + j + 1;
    const auto t = static_cast<double>(j - i);
    ties += t * t * t - t;
    i = j;
  }
  std::size_t positive2 = 0, total2 = 0;
  for (std::size_t i = 0; i < n; ++i) total2 += ranks2[i], positive2 += sizes[i] > 0 ? ranks2[i] : 0;
  const std::size_t less2 = std::min(positive2, total2 - positive2);
  if (n > kExactMax) {
    const auto count = static_cast<double>(n);
    const double deviation = std::sqrt((count * (count + 1) * (2 * count + 1) - ties / 2) / 24);
    const double z = (static_cast<double>(total2) / 4 - static_cast<double>(less2) / 2 - 0.5) / deviation;
    return std::min(1.0, std::erfc(z / std::sqrt(2.0)));
  }
  // chance[s]: share of the 2^n sign combinations whose positive doubled ranks sum to s.
  std::vector<double> chance(total2 + 1, 0);
  chance[0] = 1;
  for (const std::size_t rank : ranks2)
    for (std::size_t s = total2 + 1; s-- > 0;) chance[s] = 0.5 * (chance[s] + (s >= rank ? chance[s - rank] : 0));
  double tail = 0;
  for (std::size_t s = 0; s <= less2; ++s) tail += chance[s];
  return std::min(1.0, 2 * tail);
}

void adjust_for_many(std::span<PairedTest> tests) {
  std::vector<double> p;
  for (const PairedTest& test : tests) p.push_back(test.p);
  const std::vector<double> adjusted = stats::holm(p);
  for (std::size_t i = 0; i < tests.size(); ++i)
    tests[i].p_adjusted = adjusted[i], tests[i].shown = adjusted[i] < kSignificance;
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
