// Nodes: what the server does for its client nodes, with the timers of their heartbeats (R-CTRL-901 to 964).
//
// The rules on states and entries are fsm::NodeRequests'; here stands what a request does to the node's timer, and what
// happens when one runs out. Threads: the writer's only.
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

  // `now` in unix ns. Each answers as fsm::NodeRequests.
  [[nodiscard]] fsm::NodeAnswer register_node(model::Node node, std::int64_t now, bool restarted = false);
  [[nodiscard]] fsm::NodeAnswer update_status(const std::string& node_id, const std::string& status, std::int64_t now);
  [[nodiscard]] fsm::NodeAnswer heartbeat_missed(const std::string& node_id, std::int64_t now);
  [[nodiscard]] fsm::NodeAnswer deregister(const std::vector<std::string>& node_ids, std::int64_t now);
  /// Those that do not touch a timer.
  [[nodiscard]] fsm::NodeRequests& requests() { return requests_; }

  /// The heartbeat of a client: that of a ready node only moves its timer. The TTL that the client is told; 0 for a
  /// node that is not there.
  std::int64_t heartbeat(tables::NodeRow node, std::int64_t now, Outbox& out);
  /// A new leader waits for every node that is not down (R-CTRL-917).
  void become_leader(std::int64_t now);

  [[nodiscard]] const Heartbeats& heartbeats() const { return heartbeats_; }
  [[nodiscard]] std::int64_t next_deadline() const { return heartbeats_.next_deadline(); }
  /// Handles the heartbeats that were missed up to `now`.
  void advance(std::int64_t now, Outbox& out);

 private:
  /// The TTL, where the answer starts the timer.
  std::int64_t set_timer(const std::string& node_id, const fsm::NodeAnswer& answer, std::int64_t now);

  fsm::StateLog& log_;
  fsm::NodeRequests requests_;
  Heartbeats heartbeats_;
};

}  // namespace berth::lifecycle
