// Outline: the result of each evaluation of a recording, collected in one pass over its frames.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "record/replay.h"

namespace berth::record {

/// An evaluation that a scheduler finished.
struct Finished {
  std::string eval_id;
  std::uint64_t snapshot_index = 0;  ///< index of the state it was decided on
  std::uint64_t done_index = 0;      ///< index of the entry that finished it
  std::uint64_t plan_index = 0;      ///< index of its plan; 0: it had none
  std::size_t state = 0;             ///< number of the last State line before its end
  std::int64_t now_ns = 0;           ///< time of the decision, as precisely as recorded
  std::size_t plans = 0;             ///< committed plans
  bool ran_out = false;              ///< its attempts ran out, because its plans were refused
  Outcome outcome;
};

class Outline final : public Reader {
 public:
  void take(model::ClusterState state, std::int64_t time_ns) override;
  void take(io::EventFrame frame, std::int64_t time_ns) override;
  void take(const model::SchedulerConfiguration& config) override { configs_.push_back(config); }
  void take(const Gap&) override { ++gaps_; }
  void take_skipped(std::uint64_t) override { ++skipped_; }

  /// Sorted by state, then by index of decision, then by index of end.
  [[nodiscard]] std::vector<Finished> take_finished();
  /// Configurations recorded after the states, by ModifyIndex.
  [[nodiscard]] std::vector<model::SchedulerConfiguration> take_configs();
  /// Evaluations that ended in another way or not at all, by reason.
  [[nodiscard]] std::map<std::string, std::uint64_t> others() const;
  /// Fills the numbers of the recording.
  void describe(Report& report) const;

 private:
  struct Plan {
    std::uint64_t index = 0;
    std::int64_t now_ns = 0;
    Outcome outcome;  ///< what its plan changed
  };
  struct Open {
    std::vector<Plan> plans;
    bool blocked = false;
  };
  void take_plan(const io::EventFrame& frame);
  void take_eval(const model::Evaluation& eval, std::uint64_t index);

  std::unordered_map<std::string, Open> open_;            // evaluations that have not ended
  std::unordered_map<std::string, std::string> pending_;  // not ended so far: ID -> status
  std::vector<Finished> finished_;
  std::vector<model::SchedulerConfiguration> configs_;
  std::uint64_t states_ = 0, frames_ = 0, gaps_ = 0, skipped_ = 0, first_index_ = 0, last_index_ = 0;
  std::uint64_t cancelled_ = 0, gave_up_ = 0;
  std::int64_t first_ns_ = 0, last_ns_ = 0;
};

}  // namespace berth::record
