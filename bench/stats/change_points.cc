#include "stats/change_points.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "stats/summary.h"

namespace berth::stats {
namespace {

struct Split {
  std::size_t at = 0;  // first index of the right side
  double z = -1;       // -1: too short to split
};

/// Twice the mid-rank of every value.
std::vector<std::int64_t> doubled_ranks(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) { return values[x] < values[y]; });
  std::vector<std::int64_t> out(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first;
    while (last + 1 < order.size() && values[order[last + 1]] == values[order[first]]) ++last;
    for (std::size_t i = first; i <= last; ++i) out[order[i]] = static_cast<std::int64_t>(first + last + 2);
    first = last + 1;
  }
  return out;
}

/// The split whose left rank sum deviates most from its expectation, in standard deviations (without ties).
Split clearest_split(std::span<const std::int64_t> doubled, std::size_t least_length) {
  Split out;
  const auto n = static_cast<double>(doubled.size());
  double sum = 0;
  for (std::size_t left = 1; left + least_length <= doubled.size(); ++left) {
    sum += static_cast<double>(doubled[left - 1]) / 2;
    if (left < least_length) continue;
    const auto m = static_cast<double>(left);
    const double z = std::abs(sum - m * (n + 1) / 2) / std::sqrt(m * (n - m) * (n + 1) / 12);
    if (z > out.z) out = {left, z};
  }
  return out;
}

void search(std::span<const double> series, std::size_t offset, const ChangeOptions& options, std::mt19937_64& random,
            std::vector<ChangePoint>& out) {
  if (series.size() < 2 * options.least_length) return;
  std::vector<std::int64_t> ranks = doubled_ranks(series);
  const Split split = clearest_split(ranks, options.least_length);
  if (split.z <= 0) return;
  int as_clear = 1;  // counts the series itself as a shuffle
  for (int i = 0; i < options.shuffles; ++i) {
    for (std::size_t j = ranks.size() - 1; j > 0; --j) std::swap(ranks[j], ranks[random() % (j + 1)]);
    as_clear += clearest_split(ranks, options.least_length).z >= split.z;
  }
  const double p = as_clear / static_cast<double>(options.shuffles + 1);
  if (p > options.alpha) return;
  search(series.first(split.at), offset, options, random, out);
  out.push_back({.index = offset + split.at, .p = p});
  search(series.subspan(split.at), offset + split.at, options, random, out);
}

}  // namespace

std::vector<ChangePoint> change_points(std::span<const double> series, const ChangeOptions& options) {
  std::mt19937_64 random(options.seed);
  std::vector<ChangePoint> out;
  search(series, 0, options, random, out);
  // Removes steps of level that are too small, the smallest first.
  while (true) {
    std::size_t smallest = out.size();
    double least = options.least_change;
    for (std::size_t i = 0; i < out.size(); ++i) {
      const std::size_t from = i == 0 ? 0 : out[i - 1].index,
                        to = i + 1 == out.size() ? series.size() : out[i + 1].index;
      out[i].before = median(series.subspan(from, out[i].index - from));
      out[i].after = median(series.subspan(out[i].index, to - out[i].index));
      const double step = std::abs(relative_difference(out[i].after, out[i].before));
      if (step < least) least = step, smallest = i;
    }
    if (smallest == out.size()) return out;
    out.erase(out.begin() + static_cast<std::ptrdiff_t>(smallest));
  }
}

}  // namespace berth::stats
