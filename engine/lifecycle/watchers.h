// Watchers: everything that a leader does by itself over time: heartbeats, deployments, drains, periodic jobs, garbage
// collection.
//
// They share a virtual clock and the list of rows that commits wrote. The owner of the log drives them:
//   after each entry   nothing; the commit records the rows
//   at any time        next_deadline(): when something is due; changes are due at once
//   at that time       advance(now, out): appends what they write to `out`, in order
// Nothing is called from inside an entry (R-CTRL-1702). At equal times the order is that of the members below.
// Threads: the writer's only.
#pragma once

#include "lifecycle/deployment_watcher.h"
#include "lifecycle/garbage.h"
#include "lifecycle/node_drainer.h"
#include "lifecycle/nodes.h"
#include "lifecycle/periodic.h"

namespace berth::lifecycle {

struct WatcherConfig {
  HeartbeatConfig heartbeats;
  DeploymentConfig deployments;
  DrainConfig drains;
  GcConfig garbage;
  std::uint64_t heartbeat_seed = 0;
};

class Watchers {
 public:
  /// Starts recording the rows that commits to the log's store write. `next_id` gives the IDs of new evaluations.
  Watchers(fsm::StateLog& log, const std::function<std::string()>& next_id, const WatcherConfig& config = {});
  Watchers(const Watchers&) = delete;
  Watchers& operator=(const Watchers&) = delete;
  ~Watchers() { log_.store().set_changes(nullptr); }

  /// Resets all timers and watchers as a new leader does (R-CTRL-917, 1601).
  void become_leader(std::int64_t now, Outbox& out);
  /// Nothing is due until the next become_leader() (R-CTRL-1602).
  void stop_leading() { leads_ = false; }
  /// Lower bound of the next due time; advance() may find nothing to do then (HeartbeatTimers::next()).
  [[nodiscard]] std::int64_t next_deadline() const;
  /// Performs everything that is due at `now`, including immediate consequences.
  void advance(std::int64_t now, Outbox& out);

  /// Sets a further listener for rows that commits wrote. It is called with each batch, after the watchers.
  void set_follower(std::function<void(const tables::Changes&)> follower) { follower_ = std::move(follower); }
  /// Passes on the rows that commits wrote since the last call; advance() does so by itself.
  void pass_on_changes(std::int64_t now);

  [[nodiscard]] Nodes& nodes() { return nodes_; }
  [[nodiscard]] DeploymentWatcher& deployments() { return deployments_; }
  [[nodiscard]] NodeDrainer& drainer() { return drainer_; }
  [[nodiscard]] PeriodicDispatcher& periodic() { return periodic_; }
  [[nodiscard]] GarbageCollector& garbage() { return garbage_; }

 private:
  fsm::StateLog& log_;
  tables::Changes changes_;
  std::function<void(const tables::Changes&)> follower_;
  bool leads_ = true;
  Nodes nodes_;
  DeploymentWatcher deployments_;
  NodeDrainer drainer_;
  PeriodicDispatcher periodic_;
  GarbageCollector garbage_;
};

}  // namespace berth::lifecycle
