// Forecast: tries when a job would fit, as the work that runs ends. A second copy of the cluster on which the engine's
// own scheduler decides; nothing of it reaches the run.
//
//   follows     the run: jobs registered, allocations started and ended, nodes joined
//   trial       begin() at the present, then forward in time: advance() ends what is expected to end by then, place()
//               decides a job there and lets its allocations stay until their end. begin() takes all of it back
//
// An allocation that outlives the end expected of it is expected to run twice as long as before. Allocations are those
// of one stand-in job: jobs of which no allocation exists do not notice the difference. There is no preemption.
//
// Memory: that of a second cluster, 48 bytes per allocation that runs, and 8 per node and group of a watched job. Cost:
// one decision per place(); 0.5 us per allocation that a trial ends or takes back; watch() visits every node. Threads:
// the run's.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "run/room.h"
#include "server/lane.h"
#include "server/server.h"
#include "sim/inputs.h"
#include "sim/named_strategy.h"

namespace berth::run {

class Forecast {
 public:
  /// `config`: of the run's state. `fit`: replaces Nomad's fit component; null: Nomad's.
  Forecast(const sim::Workload& workload, const sim::GeneratedCluster& cluster,
           const std::optional<model::SchedulerConfiguration>& config, const sim::FitStrategy* fit);

  // --- follows the run; allocations, jobs and nodes are the rows of its state ---
  void registered(tables::JobKeyRow job, const std::shared_ptr<const model::Job>& what);
  /// `run_ns`: expected; < 0: it never ends.
  void started(const tables::Snapshot& state, tables::AllocRow alloc, std::int64_t at_ns, std::int64_t run_ns);
  void ended(tables::AllocRow alloc);
  void set_ready(tables::NodeRow node, bool ready);
  /// Expected end of an allocation of the loaded cluster; without it they never end.
  void expect_end(tables::AllocRow alloc, std::int64_t end_ns);

  /// Doubles the expected run time of what has outlived it. True if there is any.
  bool expect_longer(std::int64_t now_ns);

  // --- a trial ---
  /// After expect_longer(). `index`: of the state in the run, which determines the order in which nodes are visited.
  void begin(std::int64_t now_ns, std::uint64_t index);
  /// The next time at which an allocation is expected to end; nullopt: none does.
  [[nodiscard]] std::optional<std::int64_t> next_end() const;
  void advance(std::int64_t at_ns);
  /// Ends an allocation of the run now. Not before advance() in the same trial.
  void end(tables::AllocRow alloc);
  /// From now on in this trial, counts the room for the job: one pass over all nodes.
  void watch(tables::JobKeyRow job);
  /// Of the watched job: if it does not suffice, place() would not find a node for each allocation. Kept up to date
  /// with every change of a node, so that a decision is needed only where it suffices.
  [[nodiscard]] const Room& room() const { return room_; }
  /// True if all allocations of the job find a node; they then stay until `end_ns`. `eval`: as in the run.
  bool place(server::NewEval eval, std::int64_t end_ns);
  /// What the allocations of the last place() hold, if it returned true.
  [[nodiscard]] const std::vector<Room::Use>& last_placed() const { return last_placed_; }

 private:
  using Ends = std::set<std::pair<std::int64_t, tables::AllocRow>>;
  void rewind();
  tables::AllocRow insert(tables::NodeRow node, const std::shared_ptr<const tables::ResourceShape>& shape);
  void remove(tables::AllocRow row);
  void changed(tables::NodeRow node);

  server::ManualClock clock_;
  server::Server server_;
  std::unique_ptr<server::Lane> lane_;
  tables::VersionRow stand_in_ = tables::kNoRow;
  std::uint64_t ids_ = 0;
  std::vector<tables::JobKeyRow> keys_;          // by JobKeyRow of the run
  std::vector<tables::AllocRow> rows_;           // by AllocRow of the run; kNoRow: none
  std::vector<std::int64_t> start_ns_, end_ns_;  // by own row; the end is the expected one

  Ends running_;  // of the run
  // The trial.
  Ends::const_iterator next_;           // of running_: the first that has not ended
  std::vector<tables::AllocRow> over_;  // of running_, ended by the trial
  Ends placed_;                         // by the trial, and not ended
  Room room_;
  std::vector<Room::Use> last_placed_;
};

}  // namespace berth::run
