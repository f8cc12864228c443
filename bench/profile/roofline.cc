#include "profile/roofline.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/random.h"
#include "run/progress.h"

namespace berth::profile {
namespace {

using Steady = std::chrono::steady_clock;

constexpr std::size_t kLine = 64, kWords = kLine / sizeof(std::uint64_t);
struct alignas(kLine) Line {
  std::uint64_t words[kWords];
};

/// Keeps the compiler from removing the computation of `value`.
void keep(std::uint64_t value) { asm volatile("" : : "r"(value) : "memory"); }

/// The least time of a call of `pass`, repeated for at least 20 ms.
template <class Pass>
double least_seconds(Pass pass) {
  double least = std::numeric_limits<double>::infinity(), all = 0;
  for (int i = 0; i < 3 || (all < 0.02 && i < 100'000); ++i) {
    const auto start = Steady::now();
    pass();
    const double s = run::seconds_since(start);
    least = std::min(least, s), all += s;
  }
  return least;
}

Roofline::Point measure_point(std::size_t bytes) {
  const std::size_t lines = bytes / kLine;
  std::vector<Line> memory(lines);
  // One cycle through all lines in random order (Sattolo): word 0 of a line is the next line.
  std::vector<std::uint32_t> order(lines);
  std::iota(order.begin(), order.end(), 0U);
  base::Random random(1, "roofline");
  for (std::size_t i = lines - 1; i > 0; --i) std::swap(order[i], order[random.below(i)]);
  for (std::size_t i = 0; i < lines; ++i)
    memory[order[i]].words[0] = order[(i + 1) % lines], memory[order[i]].words[1] = i;

  Roofline::Point out;
  out.bytes = bytes;
  const double read_s = least_seconds([&] {
    std::uint64_t sum[4] = {0, 0, 0, 0};
    for (const Line& line : memory)
      for (std::size_t w = 0; w < kWords; ++w) sum[w % 4] += line.words[w];
    keep(sum[0] + sum[1] + sum[2] + sum[3]);
  });
  out.read_gb_per_s = static_cast<double>(bytes) / read_s / 1e9;
  const std::size_t visits = std::min<std::size_t>(lines, 1 << 18);
  const double line_s = least_seconds([&] {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < visits; ++i) sum += memory[order[i]].words[1];
    keep(sum);
  });
  out.line_ns = line_s * 1e9 / static_cast<double>(visits);
  std::uint64_t at = 0;
  const std::size_t steps = std::min<std::size_t>(lines, 1 << 16);
  const double latency_s = least_seconds([&] {
    for (std::size_t i = 0; i < steps; ++i) at = memory[at].words[0];
    keep(at);
  });
  out.latency_ns = latency_s * 1e9 / static_cast<double>(steps);
  return out;
}

template <class Value>
double between(const std::vector<Roofline::Point>& points, double bytes, Value value) {
  if (points.empty()) return 0;
  if (bytes <= static_cast<double>(points.front().bytes)) return value(points.front());
  for (std::size_t i = 1; i < points.size(); ++i) {
    const auto low = static_cast<double>(points[i - 1].bytes), high = static_cast<double>(points[i].bytes);
    if (bytes > high) continue;
    const double share = std::log(bytes / low) / std::log(high / low);
    return value(points[i - 1]) * (1 - share) + value(points[i]) * share;
  }
  return value(points.back());
}

}  // namespace

double Roofline::line_ns(double bytes) const {
  return between(points, bytes, [](const Point& p) { return p.line_ns; });
}
double Roofline::gb_per_s(double bytes) const {
  return between(points, bytes, [](const Point& p) { return p.read_gb_per_s; });
}

Roofline measure_roofline() {
  Roofline out;
  for (const std::size_t bytes : {std::size_t{32} << 10, std::size_t{512} << 10, std::size_t{4} << 20,
                                  std::size_t{32} << 20, std::size_t{128} << 20})
    out.points.push_back(measure_point(bytes));
  return out;
}

}  // namespace berth::profile
