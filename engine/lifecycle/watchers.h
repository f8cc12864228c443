// Watchers: everything a leader does by itself as time goes by: heartbeats, deployments, drains, periodic jobs,
// garbage collection.
//
// They share a virtual clock and the list of rows that commits wrote. Whoever owns the log drives them:
//   after each entry   nothing; the rows are noted by the commit
//   at any time        next_deadline(): when something is due; what changed is due at once
//   at that time       advance(now, out): what they write lands in `out`, in order
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
  /// Notes from now on what commits to the log's store write. `next_id` gives the IDs of new evaluations.
  Watchers(fsm::StateLog& log, const std::function<std::string()>& next_id, const WatcherConfig& config = {});
  Watchers(const Watchers&) = delete;
  Watchers& operator=(const Watchers&) = delete;
  ~Watchers() { log_.store().set_changes(nullptr); }

  /// All timers and watchers as of a new leader (R-CTRL-917, 1601).
  void become_leader(std::int64_t now, Outbox& out);
  /// Until the next become_leader() nothing is due any more (R-CTRL-1602).
  void stop_leading() { leads_ = false; }
  /// Nothing is due before; at that time there may be nothing to do either (HeartbeatTimers::next()).
  [[nodiscard]] std::int64_t next_deadline() const;
  /// Does everything that is due at `now`, what follows from it at once included.
  void advance(std::int64_t now, Outbox& out);

  /// Whoever else wants to know which rows commits wrote: called with each batch of them, after the watchers heard.
  void set_follower(std::function<void(const tables::Changes&)> follower) { follower_ = std::move(follower); }
  /// Hands out what commits wrote since; advance() does so by itself.
  void tell(std::int64_t now);

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
