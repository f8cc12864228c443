// Recorder: the stage sampler of a run. Takes a record per evaluation and computes totals and percentiles.
//
//   clocks     one per lane; their counts are the totals per stage
//   samples    one per evaluation, 160 B: stages in ns, counts. Kept until the end, so that the run only appends.
//              Beyond kSamplesMax the oldest are added to the percentiles at once.
//
// The cost of marks is subtracted: each interval of a stage contains one mark, whose cost is measured beforehand.
// Threads: as for run::Observer; everything else after the run.
#pragma once

#include <deque>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "run/observer.h"
#include "sim/histogram.h"

namespace berth::profile {

/// Length of ticks and cost of marks on this machine.
struct Calibration {
  double ns_per_tick = 1;
  double mark_ns = 0;  ///< one StageClock::enter()
};
/// Takes about 20 ms.
[[nodiscard]] Calibration calibrate();

/// Parts of placing, which only detailed evaluations measure.
[[nodiscard]] constexpr bool inside_place(base::Stage stage) {
  return stage == base::Stage::filter || stage == base::Stage::rank || stage == base::Stage::plan;
}
/// Stages of an evaluation, including its waits; not idle time and the run's own work.
[[nodiscard]] constexpr bool of_evaluation(base::Stage stage) {
  return stage != base::Stage::idle && stage != base::Stage::harness;
}

/// One evaluation in compact form. Stages in ns, without the cost of marks.
struct Sample {
  std::uint32_t number = 0, round = 0;
  std::uint16_t lane = 0, applier = 0;
  bool detailed = false, first_of_lane = false;
  std::int64_t due_ns = 0, started_ns = 0, decided_ns = 0, applying_ns = 0, done_ns = 0;
  std::uint32_t attempts = 0, placed = 0, failed = 0, refused = 0, evicted = 0, candidates = 0;
  std::uint32_t evaluated = 0, filtered = 0, exhausted = 0, constraint_evaluations = 0;
  std::array<float, base::kStages> stage_ns{};

  [[nodiscard]] float ns(base::Stage stage) const { return stage_ns[static_cast<std::size_t>(stage)]; }
  /// From its start to its end, without the wait before the start.
  [[nodiscard]] std::int64_t service_ns() const { return done_ns - started_ns; }
};

struct RecorderOptions {
  std::uint32_t detail_every = 32;  ///< one in this many evaluations is detailed, chosen by its number; 1: all
  std::size_t slowest = 0;          ///< number of slowest evaluations to keep
  bool keep_samples = false;        ///< for a trace
  std::optional<std::pair<std::uint64_t, std::uint32_t>> only =
      std::nullopt;  ///< number and round: records only this evaluation, then ends the run
  /// Numbers and rounds: records only these, in detail, and ends the run after the last. Empty: all.
  std::set<std::pair<std::uint64_t, std::uint32_t>> among = {};
};

class Recorder final : public run::Observer {
 public:
  static constexpr std::size_t kSamplesMax = std::size_t{1} << 20;

  Recorder(const Calibration& calibration, const RecorderOptions& options);

  base::StageClock* new_clock() override;
  bool detailed(std::uint64_t number, std::uint32_t round) override;
  void evaluation(const run::EvalRecord& record) override;
  bool finished() override { return done_; }

  /// To be called after the run: completes the percentiles.
  void finish();

  /// Sums over all evaluations.
  struct Sums {
    std::uint64_t evaluations = 0, detailed = 0, attempts = 0, placed = 0, failed = 0, refused = 0, evicted = 0;
    std::uint64_t reached = 0;         ///< nodes visited for the first time in their evaluation
    std::uint64_t reached_passed = 0;  ///< of these, not filtered; estimated by the share of all visits
    std::uint64_t candidates = 0, evaluated = 0, filtered = 0;
    std::uint64_t detailed_evaluated = 0;             ///< of `evaluated`, in detailed evaluations
    std::array<double, base::kStages> stage_ns{};     ///< of all evaluations
    std::array<double, base::kStages> detailed_ns{};  ///< of the detailed ones
  };
  [[nodiscard]] const Sums& sums() const { return sums_; }
  /// Per evaluation in which the stage took any time; for filter, rank and plan only detailed ones.
  [[nodiscard]] const sim::Histogram& latency(base::Stage stage) const {
    return latency_[static_cast<std::size_t>(stage)];
  }
  [[nodiscard]] const sim::Histogram& service() const { return service_; }
  /// ns on all clocks, in and between evaluations, without the cost of marks.
  [[nodiscard]] std::array<double, base::kStages> totals() const;
  /// The engine's part of these per evaluation: without waits and time between evaluations.
  [[nodiscard]] std::vector<std::pair<base::Stage, double>> mean_stages() const;
  /// Longest service time first.
  [[nodiscard]] const std::vector<Sample>& slowest() const { return slowest_; }
  /// With keep_samples: the first kSamplesMax samples, in order of their ends.
  [[nodiscard]] const std::vector<Sample>& samples() const { return kept_; }
  [[nodiscard]] const Calibration& calibration() const { return calibration_; }
  [[nodiscard]] const RecorderOptions& options() const { return options_; }
  [[nodiscard]] std::size_t clocks() const { return clocks_.size(); }
  /// ns on one clock by locks and stage, without the cost of marks.
  [[nodiscard]] std::array<std::array<double, base::kStages>, base::kLocks> by_locks(std::size_t clock) const;

 private:
  void add(const Sample& sample);
  void fold(const std::vector<Sample>& samples);

  struct alignas(64) Clock {
    base::StageClock clock;
  };
  const Calibration calibration_;
  const RecorderOptions options_;
  std::mutex mutex_;  // guards clocks_ while lanes are made
  std::deque<Clock> clocks_;
  std::deque<std::vector<Sample>> chunks_;
  Sums sums_;
  std::vector<sim::Histogram> latency_;
  sim::Histogram service_;
  std::vector<Sample> slowest_, kept_;
  bool done_ = false;
  std::size_t seen_ = 0;  // number of options_.among seen
};

}  // namespace berth::profile
