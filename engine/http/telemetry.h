// The server's own metrics, as published by Nomad's agents (R-STORE-400 to 460): counters and samples by name and
// labels, over intervals of 10 s of the real clock and since the start.
//
//   telemetry.count("nomad.nomad.rpc.request");
//   telemetry.sample("nomad.nomad.job.register", milliseconds, {{"region", "global"}});
//
// A series is a name with one set of labels. It is removed after a minute without events. There are at most kSeries;
// further ones are not counted. Cost: a lock and one or two lookups per event.
// Threads: any.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth::http {

/// Sorted by name. Output adds the label `host`, which every row has.
using Labels = std::vector<std::pair<std::string, std::string>>;

class Telemetry {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kSeries = 16'384;
  static constexpr std::size_t kValues = 512;  ///< values per sample and interval for quantiles
  static constexpr std::chrono::seconds kInterval{10}, kExpiry{60};

  explicit Telemetry(Clock::time_point now = Clock::now()) : began_(now) {}

  void count(std::string_view name, const Labels& labels = {}, double by = 1) {
    count_at(Clock::now(), name, labels, by);
  }
  void sample(std::string_view name, double milliseconds, const Labels& labels = {}) {
    sample_at(Clock::now(), name, labels, milliseconds);
  }
  void count_at(Clock::time_point now, std::string_view name, const Labels& labels, double by);
  void sample_at(Clock::time_point now, std::string_view name, const Labels& labels, double milliseconds);

  /// Events of one interval.
  struct Sums {
    std::uint64_t count = 0;
    double sum = 0, squares = 0, min = 0, max = 0;
    void add(double value);
    [[nodiscard]] double mean() const { return count > 0 ? sum / static_cast<double>(count) : 0; }
    [[nodiscard]] double deviation() const;  ///< sample standard deviation; 0 for one event
  };
  struct Row {
    std::string name;
    Labels labels;
    Sums interval;  ///< of the last complete interval; if there is none, of the present one
    std::uint64_t total_count = 0;
    double total = 0;
    std::vector<double> quantiles;  ///< of samples: 0.5, 0.9, 0.99 over the last intervals; empty: no events
  };
  struct Report {
    std::vector<Row> counters, samples;  ///< of all series, by name, then labels
    /// Seconds of real time since the interval's end; 0 if no interval is complete.
    std::int64_t age_seconds = 0;
  };
  [[nodiscard]] Report report(Clock::time_point now = Clock::now());
  /// Number of series not counted because of the limit kSeries.
  [[nodiscard]] std::uint64_t left_out();

 private:
  struct Series {
    Labels labels;
    Sums now, last;
    std::uint64_t total_count = 0;
    double total = 0;
    std::int64_t touched = 0;  // interval of the last event
    std::vector<double> values, values_before;
  };
  using Table = std::map<std::string, Series, std::less<>>;  // by name, NUL and the labels' text

  Series* touch(Table& table, std::string_view name, const Labels& labels);
  void roll(Clock::time_point now);

  std::mutex mutex_;
  const Clock::time_point began_;
  std::int64_t interval_ = 0;  // number of the present interval
  Table counters_, samples_;
  std::string key_;
  std::uint64_t left_out_ = 0, draws_ = 0;
};

/// "a=b;c=d", by which rows of one name are sorted.
[[nodiscard]] std::string labels_text(const Labels& labels);

/// Milliseconds of the real clock since construction.
class Stopwatch {
 public:
  [[nodiscard]] double milliseconds() const {
    return std::chrono::duration<double, std::milli>(Telemetry::Clock::now() - began_).count();
  }

 private:
  Telemetry::Clock::time_point began_ = Telemetry::Clock::now();
};

}  // namespace berth::http
