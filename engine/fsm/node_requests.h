// Requests on nodes, checked against the state and turned into log entries (R-CTRL-901 to 964, 1001 to 1006): the work
// of the server's endpoints before and after the log. Heartbeat timers are not stored here: an answer says how to
// change the node's timer (lifecycle/nodes.h).
#pragma once

#include "fsm/requests.h"

namespace berth::fsm {

struct NodeAnswer : Answer {
  bool resets_timer = false;   ///< R-CTRL-909, 930
  bool clears_timers = false;  ///< of the requested nodes (R-CTRL-963)
};

struct DrainNode {
  std::string node_id;
  bool clear = false;         ///< true: ends the drain; false: sets it
  std::int64_t deadline = 0;  ///< ns; 0: none, negative: now (R-CTRL-1001)
  bool ignore_system_jobs = false;
  bool mark_eligible = false;  ///< with `clear`; otherwise it only unblocks evaluations (R-CTRL-825)
  json::Retained meta;         ///< for the last-drain record; null: none
};

class NodeRequests {
 public:
  /// `next_id` gives the IDs of new evaluations, as in Requests.
  NodeRequests(StateLog& log, std::function<std::string()> next_id) : log_(log), next_id_(std::move(next_id)) {}

  // `now` in unix ns.
  /// Registers or updates a node; fills in fields that the server decides (R-CTRL-901 to 909). `restarted`: the process
  /// has just started and detected its drivers again, at a later UpdateTime, which is compared as well (R-CTRL-908,
  /// R-MODEL-67). Simulated drivers keep their UpdateTime, so that nodes continue to share common data.
  [[nodiscard]] NodeAnswer register_node(model::Node node, std::int64_t now, bool restarted = false);
  /// A heartbeat, or an operator's change (R-CTRL-922 to 930).
  [[nodiscard]] NodeAnswer update_status(const std::string& node_id, const std::string& status, std::int64_t now);
  /// Handles a heartbeat timer that ran out (R-CTRL-918, 919).
  [[nodiscard]] NodeAnswer heartbeat_missed(const std::string& node_id, std::int64_t now);
  [[nodiscard]] NodeAnswer set_eligibility(const std::string& node_id, const std::string& eligibility,
                                           std::int64_t now);
  [[nodiscard]] NodeAnswer drain(const DrainNode& request, std::int64_t now);
  /// Refused while a volume of a node is in use (R-STORE-216), unless the machine, and so the volume, is gone.
  [[nodiscard]] NodeAnswer deregister(const std::vector<std::string>& node_ids, std::int64_t now,
                                      bool machine_gone = false);
  /// Creates the evaluations that a change of the node would create (R-CTRL-964).
  [[nodiscard]] NodeAnswer evaluate(const std::string& node_id, std::int64_t now);

 private:
  NodeAnswer change_status(const model::Node& stored, const std::string& status, std::optional<NodeEvent> event,
                           std::int64_t now);
  /// True if a node without heartbeats may return with its running allocations (R-CTRL-919).
  [[nodiscard]] bool may_reconnect(const model::Node& node, std::int64_t now) const;
  [[nodiscard]] bool pool_exists(const std::string& name) const;
  /// Writes the evaluations that a change of the node causes (R-CTRL-950 to 955).
  void evaluate_node(NodeAnswer& answer, const model::Node& node, std::uint64_t node_modify_index, std::int64_t now);
  template <class Payload>
  void write(NodeAnswer& answer, const char* kind, const Payload& payload) {
    const std::uint64_t index = log_.next_index();
    std::string error = log_.apply(index, payload, answer.hooks);
    if (!error.empty()) answer.error = error;
    answer.entries.push_back({index, kind, std::move(error)});
    answer.index = index;
  }

  StateLog& log_;
  std::function<std::string()> next_id_;
};

}  // namespace berth::fsm
