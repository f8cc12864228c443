// Requests on nodes, checked against the state and turned into log entries (R-CTRL-901 to 964, 1001 to 1006): what the
// server's endpoints do before and after the log. Heartbeat timers are not kept here: an answer says what becomes of
// the node's (lifecycle/nodes.h).
#pragma once

#include "fsm/requests.h"

namespace berth::fsm {

struct NodeAnswer : Answer {
  bool resets_timer = false;   ///< R-CTRL-909, 930
  bool clears_timers = false;  ///< of the nodes asked for (R-CTRL-963)
};

struct DrainNode {
  std::string node_id;
  bool clear = false;         ///< ends the drain; else sets it
  std::int64_t deadline = 0;  ///< ns; 0: none, negative: now (R-CTRL-1001)
  bool ignore_system_jobs = false;
  bool mark_eligible = false;  ///< with `clear`; without, it only wakes blocked evaluations (R-CTRL-825)
  json::Value meta;            ///< of the last-drain record; null: none
};

class NodeRequests {
 public:
  /// As Requests: `next_id` gives the IDs of new evaluations.
  NodeRequests(StateLog& log, std::function<std::string()> next_id) : log_(log), next_id_(std::move(next_id)) {}

  // `now` in unix ns.
  /// Registers or updates a node; fields that the server decides are filled in (R-CTRL-901 to 909). `restarted`: by a
  /// process that has just started and found its drivers anew, at a later UpdateTime, which is compared as well
  /// (R-CTRL-908, R-MODEL-67). Simulated drivers keep theirs, so that nodes go on sharing what they have in common.
  [[nodiscard]] NodeAnswer register_node(model::Node node, std::int64_t now, bool restarted = false);
  /// A heartbeat, or an operator's change (R-CTRL-922 to 930).
  [[nodiscard]] NodeAnswer update_status(const std::string& node_id, const std::string& status, std::int64_t now);
  /// What a heartbeat timer that ran out does (R-CTRL-918, 919).
  [[nodiscard]] NodeAnswer heartbeat_missed(const std::string& node_id, std::int64_t now);
  [[nodiscard]] NodeAnswer set_eligibility(const std::string& node_id, const std::string& eligibility,
                                           std::int64_t now);
  [[nodiscard]] NodeAnswer drain(const DrainNode& request, std::int64_t now);
  [[nodiscard]] NodeAnswer deregister(const std::vector<std::string>& node_ids, std::int64_t now);
  /// Asks for the evaluations that a change of the node would ask for (R-CTRL-964).
  [[nodiscard]] NodeAnswer evaluate(const std::string& node_id, std::int64_t now);

 private:
  NodeAnswer change_status(const model::Node& stored, const std::string& status, std::optional<NodeEvent> event,
                           std::int64_t now);
  /// Whether a node whose heartbeats stopped may come back with what it runs (R-CTRL-919).
  [[nodiscard]] bool may_reconnect(const model::Node& node, std::int64_t now) const;
  [[nodiscard]] bool pool_exists(const std::string& name) const;
  /// Writes the evaluations of a change of the node (R-CTRL-950 to 955).
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
