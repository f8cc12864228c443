// Heartbeats: which nodes are expected to report, and by when (R-CTRL-910 to 917, 920, 921).
//
// A node costs only its timer; a heartbeat postpones the timer and allocates nothing. Nodes (nodes.h) handles missed
// heartbeats. Threads: one.
#pragma once

#include "lifecycle/heartbeat_timers.h"
#include "lifecycle/random_stream.h"
#include "tables/node_table.h"

namespace berth::lifecycle {

struct HeartbeatConfig {
  std::int64_t min_ttl_ns = 10'000'000'000;        ///< R-CTRL-910; a larger one finds dead nodes later
  double max_per_second = 50;                      ///< R-CTRL-911; a smaller one makes TTLs of large clusters longer
  std::int64_t grace_ns = 10'000'000'000;          ///< R-CTRL-912; time that the server waits beyond the TTL
  std::int64_t failover_ttl_ns = 300'000'000'000;  ///< R-CTRL-913; of all nodes, after a change of leader
  bool jitter = true;                              ///< false: every TTL is its base (R-CTRL-915)
};

/// Minimum TTL if `timers` nodes send heartbeats (R-CTRL-914).
[[nodiscard]] std::int64_t base_ttl_ns(const HeartbeatConfig& config, std::size_t timers);

class Heartbeats {
 public:
  explicit Heartbeats(const HeartbeatConfig& config, std::uint64_t seed) : config_(config), jitter_(seed) {}

  /// Starts or restarts the node's timer (R-CTRL-916). Returns the TTL to send to the client.
  std::int64_t reset(tables::NodeRow node, std::int64_t now);
  /// For a new leader: sets exactly the failover TTL (R-CTRL-917).
  void reset_for_failover(tables::NodeRow node, std::int64_t now) { timers_.set(node, now + config_.failover_ttl_ns); }
  void clear(tables::NodeRow node) { timers_.clear(node); }
  void clear_all() { timers_.clear_all(); }

  [[nodiscard]] bool has(tables::NodeRow node) const { return timers_.has(node); }
  [[nodiscard]] std::size_t size() const { return timers_.size(); }
  [[nodiscard]] std::int64_t next_deadline() const { return timers_.next(); }
  /// Removes and returns a node whose timer has run out (R-CTRL-918).
  [[nodiscard]] std::optional<tables::NodeRow> take_missed(std::int64_t now) {
    const auto row = timers_.take_due(now);
    return row ? std::optional(tables::NodeRow(*row)) : std::nullopt;
  }

 private:
  HeartbeatConfig config_;
  RandomStream jitter_;
  HeartbeatTimers timers_;
};

}  // namespace berth::lifecycle
