// Replays a workload: its events (arrivals, departures, joining nodes) drive a server, which decides.
//
//   events     by due time; at equal times the server's timers, then ends of allocations and joins, then arrivals by
//              number. With a queue policy, arrivals at one time are ready together
//   gangs      one that a queue policy holds back fails when its time is over, as others do in the server
//   ends       an allocation ends after its run time (departures); a stopped or evicted one after its tasks have been
//              killed. There are no clients; an allocation holds its resources until its end
//   in turn    the server's clock stays at the event's due time until all ready evaluations are processed. So the
//              decisions depend only on the workload, and their digest can be compared
//   free       the server's clock is the run's; its workers decide while this thread continues with the next event
//
// Threads: the run's. With free workers the state is changed and read under the server's Turn.
#pragma once

#include <deque>
#include <optional>
#include <queue>

#include "run/job_queue.h"
#include "run/measuring.h"
#include "run/progress.h"
#include "run/runner.h"
#include "run/waits.h"

namespace berth::run {

class Replay {
 public:
  /// `queue`: null for Nomad's order.
  Replay(const sim::Workload& workload, sim::Inputs inputs, std::optional<sim::FitStrategy> fit,
         std::unique_ptr<strategy::QueuePolicy> queue, Observer* observer, RunResult& result,
         server::Listener* extra_listener = nullptr);

  void run(const RunOptions& options);
  /// Like run(), up to the events due at `ns`. Returns the cluster at that time.
  model::ClusterState run_until(std::int64_t ns);

 private:
  /// Allocations of one plan that end at the same time.
  struct Departure {
    std::int64_t due_ns;
    tables::AllocRow first;
    std::uint32_t count;
    bool fails;
    bool operator>(const Departure& other) const {
      return due_ns != other.due_ns ? due_ns > other.due_ns : first > other.first;
    }
  };
  /// A stopped or evicted allocation, and the end of its tasks.
  struct Stopping {
    std::int64_t due_ns;
    tables::AllocRow alloc;
    bool operator>(const Stopping& other) const {
      return due_ns != other.due_ns ? due_ns > other.due_ns : alloc > other.alloc;
    }
  };
  /// The end of the time of a gang that the queue policy holds back.
  struct Limit {
    std::int64_t due_ns;
    tables::JobKeyRow job;
    bool operator>(const Limit& other) const {
      return due_ns != other.due_ns ? due_ns > other.due_ns : job > other.job;
    }
  };
  /// The server's clock with free workers: the run's.
  struct RunTime final : server::Clock {
    explicit RunTime(const sim::RunClock& clock) : run(clock) {}
    [[nodiscard]] std::int64_t now_ns() const override { return run.now_ns(); }
    const sim::RunClock& run;
  };
  /// Next due time of each kind of event; INT64_MAX: never.
  struct Due {
    std::int64_t timer_ns, release_ns, arrival_ns;
    [[nodiscard]] std::int64_t next_ns() const { return std::min({timer_ns, release_ns, arrival_ns}); }
  };

  [[nodiscard]] server::Config server_config();
  void load();
  void prepare();
  std::shared_ptr<const model::Job> next_job();
  server::NewEval registered(std::size_t arrival);
  void run_in_turn(Progress& progress);
  void run_free(Progress& progress);
  [[nodiscard]] Due due(bool idle);
  void note_timer(std::int64_t due_ns);
  void give_up_held_back(std::int64_t due_ns);
  void happen(const Due& due);
  void happen_together(Due due, std::int64_t now_ns);
  void announce();
  void arrive(std::size_t arrival);
  void evaluate(const server::NewEval& eval);
  void serve(std::int64_t now_ns);
  void forecast();
  void evict(tables::JobKeyRow job, std::int64_t now_ns);
  void release(std::int64_t due_ns);
  void end_allocs(const Departure& departure);
  std::uint32_t end_allocs(tables::AllocRow first, std::uint32_t count, tables::Client status);
  void depart_later(const server::Lane& lane);
  void end_stopped_later(const server::Lane& lane);
  [[nodiscard]] std::uint64_t done() const;
  [[nodiscard]] std::size_t happened() const;
  void show(Progress& progress);
  void leave_out(std::int64_t ns);
  void idle_until(std::int64_t due_ns, Progress& progress);

  const sim::Workload& workload_;
  sim::Inputs inputs_;
  const std::optional<sim::FitStrategy> fit_;  // replaces Nomad's fit component
  Observer* const observer_;
  RunResult& result_;
  sim::RunClock clock_{sim::Clock::skip};
  server::ManualClock event_time_;  // in turn
  RunTime run_time_{clock_};        // with free workers
  Measuring measuring_;
  std::unique_ptr<JobQueue> queue_;  // null: Nomad's order
  std::optional<JobWaits> waits_;
  server::Server server_;
  std::deque<std::shared_ptr<const model::Job>> prepared_;
  std::size_t next_arrival_ = 0, next_prepared_ = 0, next_registered_ = 0;
  std::vector<tables::JobKeyRow> jobs_;    // by arrival
  std::vector<std::uint32_t> arrival_of_;  // by JobKeyRow, with a queue policy: the last one
  std::priority_queue<Departure, std::vector<Departure>, std::greater<>> departures_;
  std::priority_queue<Stopping, std::vector<Stopping>, std::greater<>> stopping_;
  std::priority_queue<Limit, std::vector<Limit>, std::greater<>> limits_;
  std::vector<tables::NodeRow> joining_;  // rows of nodes that join during the run, in order
  std::size_t next_join_ = 0;
  std::int64_t until_ns_ = INT64_MAX;  // later events are not handled
  // Placements when the timer of refused plans fired last (R-CTRL-819). The run waits for it only while it helps.
  std::optional<std::uint64_t> placed_at_timer_;
  bool full_ = false;  // the server's evaluation limit is reached
};

}  // namespace berth::run
