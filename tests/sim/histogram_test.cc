#include "sim/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "base/random.h"
#include "sim/rate_series.h"

namespace berth::sim {
namespace {

/// Nearest rank over the sorted values: what percentile() promises, without buckets.
std::int64_t oracle(std::vector<std::int64_t> values, double percent) {
  std::sort(values.begin(), values.end());
  const auto rank = static_cast<std::size_t>(std::ceil(percent * static_cast<double>(values.size()) / 100 - 1e-6));
  return values[std::clamp<std::size_t>(rank, 1, values.size()) - 1];
}

TEST(Histogram, AgreesWithTheSortedValuesToThreeDigits) {
  for (const std::uint64_t seed : {1, 2, 3, 4, 5, 6, 7, 8}) {
    for (const std::size_t count : {1, 2, 3, 10, 999, 1000, 1001, 20000}) {
      base::Random random(seed, "histogram");
      Histogram histogram;
      std::vector<std::int64_t> values;
      for (std::size_t i = 0; i < count; ++i) {
        // Sizes from 1 ns to hours, so that every bucket width occurs.
        const auto value = static_cast<std::int64_t>(random.next() >> (10 + random.below(50)));
        values.push_back(value);
        histogram.record(value);
      }
      for (const double percent : {0.0, 1.0, 25.0, 50.0, 90.0, 99.0, 99.9, 99.99, 100.0}) {
        const std::int64_t expected = oracle(values, percent), got = histogram.percentile(percent);
        EXPECT_GE(got, expected) << "seed " << seed << " count " << count << " percent " << percent;
        EXPECT_LE(got, expected + expected / 1024) << "seed " << seed << " count " << count << " percent " << percent;
      }
      EXPECT_EQ(histogram.max(), *std::max_element(values.begin(), values.end()));
      EXPECT_EQ(histogram.min(), *std::min_element(values.begin(), values.end()));
      EXPECT_EQ(histogram.count(), count);
    }
  }
}

TEST(Histogram, IsExactBelow2048AndAtTheEdgesOfBuckets) {
  for (const std::int64_t value : {0L, 1L, 1023L, 1024L, 2047L, 2048L, 4095L, 4096L, 1L << 40, (1L << 62), INT64_MAX}) {
    Histogram histogram;
    histogram.record(value);
    EXPECT_EQ(histogram.percentile(50), value);  // the only value is also the maximum, which is exact
    EXPECT_EQ(histogram.max(), value);
  }
  Histogram histogram;
  histogram.record(-5);
  EXPECT_EQ(histogram.percentile(100), 0);
}

TEST(Histogram, EmptyHistogramsAnswerZero) {
  const Histogram histogram;
  EXPECT_EQ(histogram.percentile(99), 0);
  EXPECT_EQ(histogram.min(), 0);
  EXPECT_EQ(histogram.mean(), 0);
  EXPECT_NE(histogram.percentile_text().find("Total count    =            0"), std::string::npos);
}

TEST(Histogram, TheSumOfTwoEqualsOneOfAllValues) {
  base::Random random(9, "add");
  Histogram whole, a, b;
  for (int i = 0; i < 5000; ++i) {
    const auto value = static_cast<std::int64_t>(random.below(1'000'000'000));
    whole.record(value);
    (i % 3 == 0 ? a : b).record(value);
  }
  a.add(b);
  EXPECT_EQ(a.percentile_text(), whole.percentile_text());
}

TEST(Histogram, PercentileTextIsTheFormatOfHdrHistogram) {
  Histogram histogram;
  for (int i = 1; i <= 1000; ++i) histogram.record(i * 1000);
  std::istringstream text(histogram.percentile_text());
  std::string line;
  std::getline(text, line);
  EXPECT_EQ(line, "       Value     Percentile TotalCount 1/(1-Percentile)");
  std::getline(text, line);
  EXPECT_EQ(line, "");
  double last_value = 0, last_percentile = -1;
  std::uint64_t last_count = 0;
  int lines = 0;
  while (std::getline(text, line) && line[0] != '#') {
    double value, percentile;
    std::uint64_t count;
    ASSERT_EQ(std::sscanf(line.c_str(), "%lf %lf %lu", &value, &percentile, &count), 3) << line;
    EXPECT_GE(value, last_value);
    EXPECT_GT(percentile, last_percentile);
    EXPECT_GE(count, last_count);
    // At least that share of the values is counted up to here.
    EXPECT_GE(static_cast<double>(count), percentile * 1000 - 1e-6);
    last_value = value, last_percentile = percentile, last_count = count, ++lines;
  }
  EXPECT_EQ(last_percentile, 1.0);
  EXPECT_EQ(last_value, 1000.0);  // us
  EXPECT_EQ(last_count, 1000U);
  EXPECT_GT(lines, 20);
  EXPECT_EQ(line.rfind("#[Mean    =      500.5", 0), 0U) << line;
}

TEST(RateSeries, KeepsTheRateOfEachPartWhenThinnedOut) {
  RateSeries series;
  EXPECT_EQ(series.points().size(), 1U);
  EXPECT_EQ(series.rate(0, 1), 0);
  // 50,000 placements at 1,000/s, then 50,000 at 250/s.
  double seconds = 0;
  for (std::uint64_t placed = 5; placed <= 100'000; placed += 5)
    series.add(seconds += 5 / (placed <= 50'000 ? 1000.0 : 250.0), placed);
  EXPECT_LE(series.points().size(), RateSeries::kPoints);
  EXPECT_GE(series.points().size(), RateSeries::kPoints / 3);
  EXPECT_EQ(series.points().back().placed, 100'000U);
  EXPECT_NEAR(series.rate(0, 0.1), 1000, 1e-6);
  EXPECT_NEAR(series.rate(0.9, 1), 250, 1e-6);
  EXPECT_NEAR(series.rate(0, 1), 100'000 / 250.0, 1e-6);
}

}  // namespace
}  // namespace berth::sim
