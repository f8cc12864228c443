#include "run/life_result.h"

#include <cmath>

namespace berth::run {

sim::Histogram FaultResult::recovery() const {
  sim::Histogram out;
  for (const std::int64_t ns : recovery_ns) out.record(ns);
  return out;
}

LifeResult::Alike LifeResult::alike(std::string_view what) const {
  constexpr std::uint64_t kLeast = 5;  // fewer are not significant
  Alike out;
  double expected = 0, took = 0, all = 0, matched = 0, first_s = 0, last_s = 0;
  for (const EvaluationCost& cost : costs) {
    first_s += cost.first_s, last_s += cost.last_s;
    if (!what.empty() && cost.what != what) continue;
    all += static_cast<double>(cost.last);
    if (cost.first < kLeast || cost.last < kLeast) continue;
    matched += static_cast<double>(cost.last);
    expected += static_cast<double>(cost.last) * cost.first_s / static_cast<double>(cost.first);
    took += cost.last_s;
  }
  if (all > 0) out.share = matched / all;
  if (took > 0) out.rate = expected / took;
  const auto rest = [&](double from_s, double evaluations_s) {
    double work = -evaluations_s, told = 0;
    for (std::size_t b = 0; b < cpu_s.size(); ++b) {
      const double at = (static_cast<double>(b) + 0.5) * bucket_s;
      if (at < from_s || at >= from_s + kHour) continue;
      work += cpu_s[b], told += static_cast<double>(messages[b]);
    }
    return told == 0 ? 0 : work / told * 1e6;
  };
  out.rest_first_us = rest(0, first_s), out.rest_last_us = rest(duration_s - kHour, last_s);
  return out;
}

std::uint64_t LifeResult::memory_when_settled() const {
  const auto buckets = static_cast<std::size_t>(std::ceil(kSettled / bucket_s));
  return duration_s <= kSettled || buckets > memory_bytes.size() ? 0 : memory_bytes[buckets - 1];
}

double LifeResult::evaluations_per_cpu_s(double from_s, double until_s) const {
  double done = 0, took = 0;
  for (std::size_t b = 0; b < cpu_s.size(); ++b) {
    const double at = (static_cast<double>(b) + 0.5) * bucket_s;
    if (at < from_s || at >= until_s) continue;
    done += static_cast<double>(evaluations[b]), took += cpu_s[b];
  }
  return took == 0 ? 0 : done / took;
}

}  // namespace berth::run
