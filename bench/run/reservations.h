// The waiting jobs of a queue policy with reservations (berth/queue.h), and which of them may start.
//
// Whenever a job arrives, allocations end or a node joins, the waiting jobs are examined in their order:
//
//   - A job starts if all its allocations fit now, and the jobs reserved before it in this pass still fit at the times
//     reserved for them.
//   - Otherwise it gets a reservation, if fewer than `most` jobs have one: the earliest time, at which an allocation is
//     expected to end or a reserved job to start, at which it would be placed whole with the same condition. A job that
//     would fit at no time, or only after its own limit, gets none and delays no other.
//   - Otherwise it waits.
//
// What fits is decided by the engine's scheduler on a Forecast. Reservations are of times, not of nodes: a job is
// placed where the scheduler puts it when it starts. They are made again in every pass.
//
// Cost per pass: a decision per waiting job, and one per job reserved before it if it fits; per reservation one per
// time at which an allocation ends before it. Threads: the run's.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "run/forecast.h"

namespace berth::run {

class Reservations {
 public:
  struct Job {
    server::NewEval eval;
    std::int64_t predicted_ns = -1;     ///< run time of its allocations; < 0: they never end
    std::int64_t limit_ns = INT64_MAX;  ///< from then on it does not start (model/gang.h)
  };

  Reservations(std::uint32_t most, std::unique_ptr<Forecast> forecast) : most_(most), forecast_(std::move(forecast)) {}

  [[nodiscard]] bool empty() const { return waiting_.empty(); }
  [[nodiscard]] Forecast& forecast() { return *forecast_; }
  /// Lets a job wait, or replaces it by its new version. The least (key, number) is first in the order.
  void wait(double key, std::uint64_t number, const Job& job);
  /// The job waits no longer. False: it did not wait.
  bool forget(tables::JobKeyRow job);
  /// Capacity became free: the next call of next_to_start() begins another pass.
  void changed() { passing_ = false; }
  /// The evaluation of a job that may start now; it waits no longer. Call until there is none. `index`: of the run's
  /// state when the job will be decided.
  [[nodiscard]] std::optional<server::NewEval> next_to_start(std::int64_t now_ns, std::uint64_t index);

 private:
  using Place = std::pair<double, std::uint64_t>;  // key, number
  struct Reserved {
    std::int64_t start_ns;
    const Job* job;
  };
  [[nodiscard]] bool ends_by(const Job& job, std::int64_t at_ns) const;
  [[nodiscard]] bool starts_now(const Job& job);
  [[nodiscard]] std::optional<std::int64_t> earliest_start(const Job& job);
  bool place(const Job& job, std::int64_t start_ns);
  std::optional<std::int64_t> first_delayed(std::size_t first);
  std::size_t forward(std::int64_t at_ns);

  const std::uint32_t most_;
  const std::unique_ptr<Forecast> forecast_;
  std::map<Place, Job> waiting_;
  std::unordered_map<tables::JobKeyRow, Place> place_of_;  // of the jobs that wait

  // The pass.
  bool passing_ = false;
  std::int64_t now_ns_ = 0;
  std::uint64_t index_ = 0;
  std::optional<Place> examined_;   // the last one
  std::vector<Reserved> reserved_;  // by start, then in the order of the jobs
  // Room for the first job reserved in this pass at its start, before it starts. A job that would take too much of it
  // is known to delay it without a trial, which would cost the decisions after it what they share between them.
  std::optional<Room> first_room_;
  std::int64_t first_start_ns_ = 0;
};

}  // namespace berth::run
