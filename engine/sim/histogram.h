// A histogram of latencies in constant memory: log-linear buckets with three significant digits, as in HdrHistogram.
//
//   values 0 .. 2047             one bucket each
//   values 2048 * 2^k ..         1024 buckets of 2^(k+1) ns each, for k = 0 .. 52
//
// So a recorded value is off by less than one part in 1,024, whatever its size. 55 * 1024 counters, 440 KiB. One more
// counter per 1024 buckets makes a percentile read some hundreds of counters instead of all.
// Recording is O(1) without allocation. One thread per histogram; histograms of several threads are added afterwards.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace berth::sim {

class Histogram {
 public:
  Histogram();

  /// Counts a value in ns `times` times; negative values count as 0.
  void record(std::int64_t value, std::uint64_t times = 1);
  void add(const Histogram& other);

  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] std::int64_t min() const { return count_ == 0 ? 0 : min_; }  ///< exact
  [[nodiscard]] std::int64_t max() const { return max_; }                    ///< exact
  [[nodiscard]] double mean() const;                                         ///< exact up to rounding
  [[nodiscard]] double standard_deviation() const;                           ///< of the bucket middles
  /// The smallest value that at least `percent` of the values do not exceed, rounded up to its bucket's end, at most
  /// max(). 0 if nothing was recorded.
  [[nodiscard]] std::int64_t percentile(double percent) const;
  /// One counter per bucket, in the order and number of HdrHistogram's counts array for three digits from 1 on.
  [[nodiscard]] std::span<const std::uint64_t> counts() const { return counts_; }
  void clear();
  /// HdrHistogram's percentile distribution as text, values in us, `ticks` lines per halving of the distance to 100 %.
  [[nodiscard]] std::string percentile_text(int ticks = 5) const;

 private:
  std::vector<std::uint64_t> counts_;
  std::array<std::uint64_t, 55> coarse_{};  // sums of 1024 buckets each
  std::uint64_t count_ = 0;
  std::int64_t min_ = INT64_MAX, max_ = 0;
  double sum_ = 0;
};

}  // namespace berth::sim
