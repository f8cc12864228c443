#include "stats/rank_test.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace berth::stats {
namespace {

struct Ranks {
  std::vector<std::size_t> doubled;  // twice the mid-rank (from 1) of every value, a's values first
  double ties = 0;                   // sum of t^3 - t over groups of t equal values
};

Ranks ranks_of(std::span<const double> a, std::span<const double> b) {
  std::vector<double> values(a.begin(), a.end());
  values.insert(values.end(), b.begin(), b.end());
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) { return values[x] < values[y]; });
  Ranks out;
  out.doubled.resize(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first;
    while (last + 1 < order.size() && values[order[last + 1]] == values[order[first]]) ++last;
    for (std::size_t i = first; i <= last; ++i) out.doubled[order[i]] = first + last + 2;
    const auto t = static_cast<double>(last - first + 1);
    out.ties += t * t * t - t;
    first = last + 1;
  }
  return out;
}

/// Twice the rank sum of b.
std::size_t doubled_sum(const Ranks& ranks, std::size_t a_count) {
  return std::accumulate(ranks.doubled.begin() + static_cast<std::ptrdiff_t>(a_count), ranks.doubled.end(),
                         std::size_t{0});
}

double u_of(std::size_t doubled, std::size_t b_count) {
  const auto n = static_cast<double>(b_count);
  return static_cast<double>(doubled) / 2 - n * (n + 1) / 2;
}

void set_two_sided(RankTest& test) { test.p_two_sided = std::min(1.0, 2 * std::min(test.p_greater, test.p_less)); }

}  // namespace

double normal_upper_tail(double z) { return std::erfc(z / std::sqrt(2.0)) / 2; }

RankTest rank_test_exact(std::span<const double> a, std::span<const double> b) {
  RankTest out;
  if (a.empty() || b.empty()) return out;
  const Ranks ranks = ranks_of(a, b);
  const std::size_t count = b.size(), observed = doubled_sum(ranks, a.size());
  const std::size_t most = std::accumulate(ranks.doubled.begin(), ranks.doubled.end(), std::size_t{0});
  // ways[k * (most + 1) + s]: number of sets of k values with the doubled rank sum s.
  std::vector<double> ways((count + 1) * (most + 1), 0.0);
  ways[0] = 1;
  std::size_t seen = 0;
  for (const std::size_t rank : ranks.doubled) {
    ++seen;
    for (std::size_t k = std::min(seen, count); k > 0; --k)
      for (std::size_t s = most; s >= rank; --s) ways[k * (most + 1) + s] += ways[(k - 1) * (most + 1) + s - rank];
  }
  double all = 0, greater = 0, less = 0;
  for (std::size_t s = 0; s <= most; ++s) {
    const double here = ways[count * (most + 1) + s];
    all += here;
    if (s >= observed) greater += here;
    if (s <= observed) less += here;
  }
  out.u = u_of(observed, count);
  out.p_greater = greater / all, out.p_less = less / all;
  out.exact = true;
  set_two_sided(out);
  return out;
}

RankTest rank_test_normal(std::span<const double> a, std::span<const double> b) {
  RankTest out;
  if (a.empty() || b.empty()) return out;
  const Ranks ranks = ranks_of(a, b);
  const auto m = static_cast<double>(a.size()), n = static_cast<double>(b.size()), all = m + n;
  out.u = u_of(doubled_sum(ranks, a.size()), b.size());
  const double variance = m * n / 12 * (all + 1 - ranks.ties / (all * (all - 1)));
  if (!(variance > 0)) return out;  // all values are equal
  const double distance = out.u - m * n / 2, deviation = std::sqrt(variance);
  out.p_greater = normal_upper_tail((distance - 0.5) / deviation);
  out.p_less = normal_upper_tail((-distance - 0.5) / deviation);
  set_two_sided(out);
  return out;
}

RankTest rank_test(std::span<const double> a, std::span<const double> b) {
  return a.size() + b.size() <= kExactRankTestValues ? rank_test_exact(a, b) : rank_test_normal(a, b);
}

double smallest_p(std::size_t n) {
  double p = 1;
  for (std::size_t i = 1; i <= n; ++i) p *= static_cast<double>(i) / static_cast<double>(n + i);
  return p;
}

std::vector<double> holm(std::span<const double> p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) { return p[x] < p[y]; });
  std::vector<double> out(p.size());
  double before = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    before = std::min(1.0, std::max(before, static_cast<double>(p.size() - i) * p[order[i]]));
    out[order[i]] = before;
  }
  return out;
}

}  // namespace berth::stats
