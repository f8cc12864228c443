// The course of a packing problem: tasks arrive in order, the caller places each on a node or misses it, and they leave
// when their run time is over. Replays with a strategy (packing_replay.h) and steps of a caller (packing_worlds.h)
// share it, so that the same choices have the same digest.
//
//   ends    a heap of the running tasks that end, 40 bytes each; stays: those that do not
//   hosts   n bits: rows that run a task of the current job; only for jobs with distinct_hosts
//
// Rows are those of the problem's own order; in the fleet they begin at `first_row`.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/packing_problem.h"
#include "strategy/prediction.h"

namespace berth::packing {

class PackingEpisode {
 public:
  /// Problem and order must outlive it.
  PackingEpisode(const sim::PackingProblem& problem, const std::vector<std::uint32_t>& order, bool departures,
                 strategy::Row first_row = 0);

  /// Makes the fleet predict run times. Call it before the first arrival; not for worlds that restart.
  void predict(strategy::Fleet& fleet, strategy::Prediction prediction);
  /// Called with the time of each end and each arrival, before the fleet changes. Set it before the first arrival.
  using BeforeChanges = std::function<void(std::int64_t now_ns)>;
  void measure(BeforeChanges before) { before_ = std::move(before); }

  /// Moves on to the next arrival and removes the tasks that end before it; false after the last arrival.
  bool next_arrival(strategy::Fleet& fleet);
  [[nodiscard]] const sim::PackingArrival& arrival() const { return (*problem_).arrivals[arrived_ - 1]; }
  [[nodiscard]] std::size_t arrived() const { return arrived_; }  ///< the current one included
  /// Rows that a task of the current arrival may not use.
  [[nodiscard]] strategy::Exclusion exclusion() const {
    return arrival().distinct_hosts ? strategy::Exclusion(hosts_) : strategy::Exclusion{};
  }

  /// Removes all tasks that still run and starts again.
  void restart(strategy::Fleet& fleet);

  /// A task of the current arrival was placed in the fleet, or fits nowhere.
  void placed(const strategy::Choice& choice, strategy::Fleet& fleet);
  void missed();

  [[nodiscard]] std::uint64_t asked_count() const { return asked_; }
  [[nodiscard]] std::uint64_t placed_count() const { return placed_; }
  [[nodiscard]] double priority_placed_percent() const {
    return priority_asked_ == 0 ? 100 : 100 * priority_placed_ / priority_asked_;
  }
  /// 16 hex digits over all choices and misses so far.
  [[nodiscard]] std::string digest() const;

 private:
  struct End {
    std::int64_t at_ns;
    std::uint64_t number;
    strategy::Row row;
    strategy::ClassId task;
    strategy::DeviceMask devices;
    strategy::Lifetimes::Slot slot;  // if run times are predicted
    bool operator>(const End& other) const { return std::tie(at_ns, number) > std::tie(other.at_ns, other.number); }
  };
  void end(strategy::Fleet& fleet, const End& task) const;
  void note(std::uint64_t value);
  void count();

  const sim::PackingProblem* problem_;
  const std::vector<std::uint32_t>* order_;
  bool departures_;
  strategy::Row first_row_;
  std::size_t arrived_ = 0;
  std::vector<End> ends_;   // a heap, the next end in front
  std::vector<End> stays_;  // tasks that never end
  std::vector<std::uint64_t> hosts_;
  std::vector<strategy::Row> hosts_used_;  // to clear hosts_
  std::uint32_t hosts_job_ = UINT32_MAX;
  std::uint64_t asked_ = 0, placed_ = 0, digest_;
  double priority_asked_ = 0, priority_placed_ = 0;
  std::optional<strategy::Prediction> prediction_;
  BeforeChanges before_;
};

}  // namespace berth::packing
