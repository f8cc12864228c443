// HdrHistogram's log: a separate decoder, written from the format's description, reads back what was written.
#include "run/hdr_log.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <cmath>
#include <map>
#include <random>
#include <sstream>

namespace berth::run {
namespace {

std::string from_base64(const std::string& text) {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  std::uint32_t bits = 0;
  int have = 0;
  for (const char c : text) {
    if (c == '=') break;
    bits = bits << 6 | static_cast<std::uint32_t>(digits.find(c)), have += 6;
    if (have >= 8) have -= 8, out += static_cast<char>(bits >> have & 0xff);
  }
  EXPECT_EQ(text.size() % 4, 0U);
  return out;
}

std::int64_t big_endian(const std::string& bytes, std::size_t at, std::size_t width) {
  std::uint64_t out = 0;
  for (std::size_t i = 0; i < width; ++i) out = out << 8 | static_cast<unsigned char>(bytes.at(at + i));
  return static_cast<std::int64_t>(out);
}

/// Lowest value of a bucket -> count, from the text of the last column.
std::map<std::int64_t, std::int64_t> decoded(const std::string& text) {
  const std::string packed = from_base64(text);
  EXPECT_EQ(big_endian(packed, 0, 4), 0x1c849314);
  EXPECT_EQ(big_endian(packed, 4, 4), static_cast<std::int64_t>(packed.size() - 8));
  std::string plain(4'000'000, '\0');
  uLongf size = plain.size();
  EXPECT_EQ(uncompress(reinterpret_cast<Bytef*>(plain.data()), &size, reinterpret_cast<const Bytef*>(packed.data() + 8),
                       packed.size() - 8),
            Z_OK);
  plain.resize(size);
  EXPECT_EQ(big_endian(plain, 0, 4), 0x1c849313);
  EXPECT_EQ(big_endian(plain, 4, 4), static_cast<std::int64_t>(plain.size() - 40));
  EXPECT_EQ(big_endian(plain, 8, 4), 0);
  EXPECT_EQ(big_endian(plain, 12, 4), 3);
  EXPECT_EQ(big_endian(plain, 16, 8), 1);
  EXPECT_EQ(big_endian(plain, 24, 8), INT64_MAX);
  EXPECT_EQ(big_endian(plain, 32, 8), 0x3ff0000000000000);  // 1.0

  std::map<std::int64_t, std::int64_t> out;
  std::int64_t index = 0;
  for (std::size_t at = 40; at < plain.size();) {
    std::uint64_t bits = 0;
    for (int byte = 0; byte < 9; ++byte) {
      const auto b = static_cast<unsigned char>(plain.at(at++));
      bits |= static_cast<std::uint64_t>(byte < 8 ? b & 0x7f : b) << (7 * byte);
      if (byte < 8 && (b & 0x80) == 0) break;
    }
    const auto count = static_cast<std::int64_t>(bits >> 1) ^ -static_cast<std::int64_t>(bits & 1);
    if (count < 0) {
      index -= count;
      continue;
    }
    // 2,048 values of one each, then 1,024 buckets per doubling.
    const std::int64_t doubling = index < 2048 ? 0 : index / 1024 - 1;
    const std::int64_t low = doubling == 0 ? index : (1024 + index % 1024) << doubling;
    if (count > 0) out[low] = count;
    ++index;
  }
  return out;
}

std::int64_t bucket_low(std::int64_t value) {
  std::int64_t step = 1;
  while (value / step >= 2048) step *= 2;
  return value / step * step;
}

TEST(HdrLog, AHistogramRoundTrips) {
  const std::vector<std::vector<std::int64_t>> cases = {
      {}, {0}, {1}, {2047}, {2048}, {INT64_MAX}, {0, 1, 2, 2}, {5, 7}, {1'000'000, 3, 1'000'000'000'000}};
  for (const auto& values : cases) {
    sim::Histogram histogram;
    std::map<std::int64_t, std::int64_t> want;
    for (const std::int64_t value : values) histogram.record(value), ++want[bucket_low(value)];
    EXPECT_EQ(decoded(hdr_encoded(histogram)), want) << values.size() << " values";
  }
}

TEST(HdrLog, RandomCountsRoundTrip) {
  std::mt19937_64 random(7);
  sim::Histogram histogram;
  std::map<std::int64_t, std::int64_t> want;
  for (int i = 0; i < 5000; ++i) {
    const auto value = static_cast<std::int64_t>(random() >> (1 + random() % 63));
    // Counts of one byte and of many bytes.
    const auto times = 1 + (random() >> (2 + random() % 60)) % (std::uint64_t{1} << 50);
    histogram.record(value, times), want[bucket_low(value)] += static_cast<std::int64_t>(times);
  }
  EXPECT_EQ(decoded(hdr_encoded(histogram)), want);
}

TEST(HdrLog, HasALineForEachIntervalWithValues) {
  HdrLog log(1'700'000'000.25, 1, "latency of something");
  log.record(0.2, 1'500'000, 2);
  log.record(0.9, 2'500'000, 1);
  log.record(3.1, 100, 4);  // nothing in the seconds between
  std::istringstream lines(log.finish(3.5));
  std::string line;
  std::vector<std::string> all;
  while (std::getline(lines, line)) all.push_back(line);
  ASSERT_EQ(all.size(), 6U);
  EXPECT_EQ(all[0], "#[latency of something]");
  EXPECT_EQ(all[1], "#[Histogram log format version 1.3]");
  EXPECT_EQ(all[2], "#[StartTime: 1700000000.250 (seconds since epoch), 2023-11-14T22:13:20Z]");
  EXPECT_EQ(all[3], R"("StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram")");
  const auto interval = [&](std::size_t i, const std::string& head) {
    EXPECT_EQ(all[i].substr(0, head.size()), head);
    return decoded(all[i].substr(head.size()));
  };
  EXPECT_EQ(interval(4, "0.000,1.000,2.500,"),
            (std::map<std::int64_t, std::int64_t>{{bucket_low(1'500'000), 2}, {bucket_low(2'500'000), 1}}));
  EXPECT_EQ(interval(5, "3.000,0.500,0.000,"), (std::map<std::int64_t, std::int64_t>{{100, 4}}));
}

}  // namespace
}  // namespace berth::run
