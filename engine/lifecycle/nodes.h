// Nodes: the server's functions for its client nodes, with the timers of their heartbeats (R-CTRL-901 to 964).
//
// fsm::NodeRequests has the rules on states and entries. This class adds the effect of a request on the node's timer,
// and handles timers that run out. Threads: the writer's only.
#pragma once

#include "fsm/node_requests.h"
#include "lifecycle/heartbeats.h"
#include "lifecycle/outbox.h"

namespace berth::lifecycle {

class Nodes {
 public:
  Nodes(fsm::StateLog& log, std::function<std::string()> next_id, const HeartbeatConfig& config = {},
        std::uint64_t seed = 0)
      : log_(log), requests_(log, std::move(next_id)), heartbeats_(config, seed) {}

  // `now` in unix ns. Each returns the answer of fsm::NodeRequests.
  [[nodiscard]] fsm::NodeAnswer register_node(model::Node node, std::int64_t now, bool restarted = false);
  [[nodiscard]] fsm::NodeAnswer update_status(const std::string& node_id, const std::string& status, std::int64_t now);
  [[nodiscard]] fsm::NodeAnswer heartbeat_missed(const std::string& node_id, std::int64_t now);
  [[nodiscard]] fsm::NodeAnswer deregister(const std::vector<std::string>& node_ids, std::int64_t now,
                                           bool machine_gone = false);
  /// The requests that do not affect a timer.
  [[nodiscard]] fsm::NodeRequests& requests() { return requests_; }

  /// A client's heartbeat: for a ready node it only postpones the timer. Returns the TTL to send to the client; 0 if
  /// there is no such node.
  std::int64_t heartbeat(tables::NodeRow node, std::int64_t now, Outbox& out);
  /// A new leader expects heartbeats of every node that is not down (R-CTRL-917).
  void become_leader(std::int64_t now);

  [[nodiscard]] const Heartbeats& heartbeats() const { return heartbeats_; }
  [[nodiscard]] std::int64_t next_deadline() const { return heartbeats_.next_deadline(); }
  /// Handles the heartbeats that were missed up to `now`.
  void advance(std::int64_t now, Outbox& out);

 private:
  /// Starts the timer if the answer requires it. Returns the TTL.
  std::int64_t set_timer(const std::string& node_id, const fsm::NodeAnswer& answer, std::int64_t now);

  fsm::StateLog& log_;
  fsm::NodeRequests requests_;
  Heartbeats heartbeats_;
};

}  // namespace berth::lifecycle
