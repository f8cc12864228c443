// Measures the overhead of profiling. The same run is repeated in one process; every other event is marked and
// recorded, in the next run the others. So both sides have the same events and alternate within microseconds, and other
// load of the machine affects both. Compares processor time of the run's thread, per event the least of all rounds.
#pragma once

#include <vector>

#include "profile/recorder.h"

namespace berth::profile {

struct Overhead {
  double share = 0;                     ///< (marked - unmarked) / unmarked
  double error = 0;                     ///< standard error of the share
  double marked_s = 0, unmarked_s = 0;  ///< processor time of the compared events
  std::size_t events = 0;
  int rounds = 0;  ///< runs per side
};

class OverheadMeter final : public run::Observer {
 public:
  OverheadMeter(const Calibration& calibration, const RecorderOptions& options)
      : calibration_(calibration), options_(options) {}

  /// To be called before the next run, which has a new recorder.
  void next_run();

  base::StageClock* new_clock() override { return recorder_->new_clock(); }
  bool detailed(std::uint64_t number, std::uint32_t round) override { return recorder_->detailed(number, round); }
  bool begin() override;
  void end() override;
  void evaluation(const run::EvalRecord& record) override { recorder_->evaluation(record); }

  [[nodiscard]] Overhead result() const;

  /// For tests: one event took `ns` on a side.
  void add(std::size_t event, bool marked, std::int64_t ns);

 private:
  const Calibration calibration_;
  const RecorderOptions options_;
  std::optional<Recorder> recorder_;
  std::vector<std::array<std::int64_t, 2>> least_ns_;  // by event: unmarked, marked; -1: none yet
  int runs_ = 0;
  std::size_t event_ = 0;
  bool marked_ = false;
  std::int64_t began_ns_ = 0;
};

}  // namespace berth::profile
