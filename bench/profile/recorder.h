// The stage sampler of a run: takes a record per evaluation and makes of all of them totals and percentiles.
//
//   clocks     one per lane; what was counted on them is the total per stage
//   samples    one per evaluation, 160 B: stages in ns, what was looked at; kept until the end, so that the run does
//              nothing with them but append. Past kSamplesMax the oldest are folded into the percentiles at once.
//
// What marks cost is taken off: each of a stage's intervals holds one mark, whose cost is measured beforehand.
// Threads: as run::Observer; everything else when the run is over.
#pragma once

#include <deque>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "run/observer.h"
#include "sim/histogram.h"

namespace berth::profile {

/// How long ticks and marks take on this machine.
struct Calibration {
  double ns_per_tick = 1;
  double mark_ns = 0;  ///< one StageClock::enter()
};
/// Takes about 20 ms.
[[nodiscard]] Calibration calibrate();

/// Divided out of placing, which only the detailed evaluations do.
[[nodiscard]] constexpr bool inside_place(base::Stage stage) {
  return stage == base::Stage::filter || stage == base::Stage::rank || stage == base::Stage::plan;
}
/// Of an evaluation, its waits included; idle and the run's own books are not.
[[nodiscard]] constexpr bool of_evaluation(base::Stage stage) {
  return stage != base::Stage::idle && stage != base::Stage::harness;
}

/// One evaluation, compact. Stages in ns, without what marks cost.
struct Sample {
  std::uint32_t number = 0, round = 0;
  std::uint16_t lane = 0, applier = 0;
  bool detailed = false, first_of_lane = false;
  std::int64_t due_ns = 0, started_ns = 0, decided_ns = 0, applying_ns = 0, done_ns = 0;
  std::uint32_t attempts = 0, placed = 0, failed = 0, refused = 0, evicted = 0, candidates = 0;
  std::uint32_t evaluated = 0, filtered = 0, exhausted = 0, constraint_evaluations = 0;
  std::array<float, base::kStages> stage_ns{};

  [[nodiscard]] float ns(base::Stage stage) const { return stage_ns[static_cast<std::size_t>(stage)]; }
  /// In berth's hands: from its start to its end, without the wait for its turn.
  [[nodiscard]] std::int64_t service_ns() const { return done_ns - started_ns; }
};

struct RecorderOptions {
  std::uint32_t detail_every = 32;  ///< one evaluation in so many is detailed, drawn by its number; 1: all
  std::size_t slowest = 0;          ///< so many are kept
  bool keep_samples = false;        ///< for a trace
  std::optional<std::pair<std::uint64_t, std::uint32_t>> only =
      std::nullopt;  ///< number and round: records nothing else, then ends
  /// Numbers and rounds: records nothing else, in detail, and ends after the last one. Empty: all.
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

  /// The run is over: percentiles are complete from here on.
  void finish();

  /// Sums over all evaluations.
  struct Sums {
    std::uint64_t evaluations = 0, detailed = 0, attempts = 0, placed = 0, failed = 0, refused = 0, evicted = 0;
    std::uint64_t reached = 0;         ///< nodes met for the first time: each is decided about once in an evaluation
    std::uint64_t reached_passed = 0;  ///< of these, not filtered, if filtered as all nodes met were
    std::uint64_t candidates = 0, evaluated = 0, filtered = 0;
    std::uint64_t detailed_evaluated = 0;             ///< of `evaluated`, in detailed evaluations
    std::array<double, base::kStages> stage_ns{};     ///< of all evaluations
    std::array<double, base::kStages> detailed_ns{};  ///< of the detailed ones
  };
  [[nodiscard]] const Sums& sums() const { return sums_; }
  /// Per evaluation in which the stage took any time; of filter, rank and plan the detailed ones.
  [[nodiscard]] const sim::Histogram& latency(base::Stage stage) const {
    return latency_[static_cast<std::size_t>(stage)];
  }
  [[nodiscard]] const sim::Histogram& service() const { return service_; }
  /// ns on all clocks, evaluations and what is between them, without what marks cost.
  [[nodiscard]] std::array<double, base::kStages> totals() const;
  /// Of these, per evaluation, what belongs to the engine: no waits, no time between evaluations.
  [[nodiscard]] std::vector<std::pair<base::Stage, double>> mean_stages() const;
  /// Longest service time first.
  [[nodiscard]] const std::vector<Sample>& slowest() const { return slowest_; }
  /// All of them, in the order of their ends, with keep_samples; the first kSamplesMax.
  [[nodiscard]] const std::vector<Sample>& samples() const { return kept_; }
  [[nodiscard]] const Calibration& calibration() const { return calibration_; }
  [[nodiscard]] const RecorderOptions& options() const { return options_; }
  [[nodiscard]] std::size_t clocks() const { return clocks_.size(); }

 private:
  void add(const Sample& sample);
  void fold(const std::vector<Sample>& samples);

  struct alignas(64) Clock {
    base::StageClock clock;
  };
  const Calibration calibration_;
  const RecorderOptions options_;
  std::mutex mutex_;  // of clocks_ while lanes are made
  std::deque<Clock> clocks_;
  std::deque<std::vector<Sample>> chunks_;
  Sums sums_;
  std::vector<sim::Histogram> latency_;
  sim::Histogram service_;
  std::vector<Sample> slowest_, kept_;
  bool done_ = false;
  std::size_t seen_ = 0;  // of options_.among
};

}  // namespace berth::profile
