#include "sim/histogram.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace berth::sim {
namespace {

constexpr int kHalfBits = 10;  // 1024 buckets per doubling
constexpr std::size_t kHalf = std::size_t{1} << kHalfBits;
constexpr std::size_t kBuckets = (64 - kHalfBits) * kHalf + kHalf;
static_assert(kBuckets == 55 * kHalf);

std::size_t bucket_of(std::uint64_t value) {
  const int width = 64 - std::countl_zero(value | (2 * kHalf - 1));  // at least 11 bits
  const int shift = width - (kHalfBits + 1);
  return static_cast<std::size_t>(shift) * kHalf + static_cast<std::size_t>(value >> shift);
}

/// Smallest and largest value of a bucket.
std::uint64_t low_of(std::size_t bucket) {
  if (bucket < 2 * kHalf) return bucket;
  const std::size_t shift = bucket / kHalf - 1;
  return static_cast<std::uint64_t>(kHalf + bucket % kHalf) << shift;
}
std::uint64_t high_of(std::size_t bucket) {
  if (bucket < 2 * kHalf) return bucket;
  return low_of(bucket) + (std::uint64_t{1} << (bucket / kHalf - 1)) - 1;
}

}  // namespace

Histogram::Histogram() : counts_(kBuckets, 0) {}

void Histogram::record(std::int64_t value, std::uint64_t times) {
  if (times == 0) return;
  value = std::max<std::int64_t>(0, value);
  const std::size_t bucket = bucket_of(static_cast<std::uint64_t>(value));
  counts_[bucket] += times;
  coarse_[bucket / kHalf] += times;
  count_ += times;
  min_ = std::min(min_, value), max_ = std::max(max_, value);
  sum_ += static_cast<double>(value) * static_cast<double>(times);
}

void Histogram::add(const Histogram& other) {
  for (std::size_t i = 0; i < kBuckets; ++i) counts_[i] += other.counts_[i];
  for (std::size_t i = 0; i < coarse_.size(); ++i) coarse_[i] += other.coarse_[i];
  count_ += other.count_;
  min_ = std::min(min_, other.min_), max_ = std::max(max_, other.max_);
  sum_ += other.sum_;
}

void Histogram::clear() {
  std::fill(counts_.begin(), counts_.end(), 0);
  coarse_ = {};
  count_ = 0, min_ = INT64_MAX, max_ = 0, sum_ = 0;
}

double Histogram::mean() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }

double Histogram::standard_deviation() const {
  if (count_ == 0) return 0;
  double sum = 0;
  const double middle = mean();
  for (std::size_t i = 0; i < kBuckets; ++i) {
    if (counts_[i] == 0) continue;
    const double value = (static_cast<double>(low_of(i)) + static_cast<double>(high_of(i))) / 2;
    sum += static_cast<double>(counts_[i]) * (value - middle) * (value - middle);
  }
  return std::sqrt(sum / static_cast<double>(count_));
}

std::int64_t Histogram::percentile(double percent) const {
  if (count_ == 0) return 0;
  // Subtracts a rounding margin: 99.9 % of 1,000 values must be 999, however 99.9 is rounded.
  const double wanted = std::ceil(percent * static_cast<double>(count_) / 100 - 1e-6);
  const auto rank = static_cast<std::uint64_t>(std::clamp(wanted, 1.0, static_cast<double>(count_)));
  std::uint64_t seen = 0;
  std::size_t first = 0;
  while (seen + coarse_[first / kHalf] < rank) seen += coarse_[first / kHalf], first += kHalf;
  for (std::size_t i = first; i < kBuckets; ++i)
    if ((seen += counts_[i]) >= rank) return std::min(static_cast<std::int64_t>(high_of(i)), max_);
  return max_;
}

std::string Histogram::percentile_text(int ticks) const {
  std::string out = "       Value     Percentile TotalCount 1/(1-Percentile)\n\n";
  // As in HdrHistogram: the step halves with the remaining distance to 100 %.
  double level = 0;  // percent
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < kBuckets && count_ > 0; ++i) {
    if (counts_[i] == 0) continue;
    seen += counts_[i];
    const double reached = 100.0 * static_cast<double>(seen) / static_cast<double>(count_);
    const double value_us = static_cast<double>(std::min(static_cast<std::int64_t>(high_of(i)), max_)) / 1e3;
    while (level <= reached && level < 100) {
      out += fmt::format("{:12.3f} {:2.12f} {:10d} {:14.2f}\n", value_us, level / 100, seen, 1 / (1 - level / 100));
      const double halvings = std::floor(std::log2(100 / (100 - level))) + 1;
      level += 100 / (ticks * std::exp2(halvings));
      if (seen == count_ && level > reached - 100 / (2.0 * static_cast<double>(count_))) break;
    }
    if (seen == count_) out += fmt::format("{:12.3f} {:2.12f} {:10d}\n", value_us, 1.0, seen);
  }
  out += fmt::format("#[Mean    = {:12.3f}, StdDeviation   = {:12.3f}]\n", mean() / 1e3, standard_deviation() / 1e3);
  out += fmt::format("#[Max     = {:12.3f}, Total count    = {:12d}]\n", static_cast<double>(max_) / 1e3, count_);
  out += fmt::format("#[Buckets = {:12d}, SubBuckets     = {:12d}]\n", kBuckets / kHalf - 1, 2 * kHalf);
  return out;
}

}  // namespace berth::sim
