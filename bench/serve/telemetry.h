// What the server counts and times of itself, as Nomad's agents publish it (R-STORE-400 to 460): counters and samples
// by name and labels, over intervals of 10 s of the real clock and since the start.
//
//   telemetry.count("nomad.nomad.rpc.request");
//   telemetry.sample("nomad.nomad.job.register", milliseconds, {{"region", "global"}});
//
// A series is a name with one set of labels. It leaves after a minute without an event, and there are at most kSeries:
// what would be one more is not counted. Cost: a lock and one or two lookups per event.
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

namespace berth::serve {

/// Sorted by name. Of the label `host`, which every row has, whoever prints takes care.
using Labels = std::vector<std::pair<std::string, std::string>>;

class Telemetry {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kSeries = 16'384;
  static constexpr std::size_t kValues = 512;  ///< of a sample and an interval, that quantiles are taken of
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
    [[nodiscard]] double deviation() const;  ///< of the sample; 0 for one event
  };
  struct Row {
    std::string name;
    Labels labels;
    Sums interval;  ///< of the last interval that is over; while none is, of the one under way
    std::uint64_t total_count = 0;
    double total = 0;
    std::vector<double> quantiles;  ///< of samples: 0.5, 0.9, 0.99 over the last intervals; empty: nothing happened
  };
  struct Report {
    std::vector<Row> counters, samples;  ///< by name, then labels; of all series that are there
    /// Seconds of real time between the interval's end and now; 0 while none is over.
    std::int64_t age_seconds = 0;
  };
  [[nodiscard]] Report report(Clock::time_point now = Clock::now());
  /// Series whose events were not counted because there were kSeries others.
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
  std::int64_t interval_ = 0;  // number of the one under way
  Table counters_, samples_;
  std::string key_;
  std::uint64_t left_out_ = 0, draws_ = 0;
};

/// "a=b;c=d": what rows of one name are sorted by.
[[nodiscard]] std::string labels_text(const Labels& labels);

/// Milliseconds of the real clock since it was made.
class Stopwatch {
 public:
  [[nodiscard]] double milliseconds() const {
    return std::chrono::duration<double, std::milli>(Telemetry::Clock::now() - began_).count();
  }

 private:
  Telemetry::Clock::time_point began_ = Telemetry::Clock::now();
};

}  // namespace berth::serve
