// Payloads of log entries on nodes (R-CTRL-901 to 964, 1001 to 1005), and a node's stored changes.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/node.h"

namespace berth::fsm {

struct NodeEvent {
  std::string message, subsystem;
  std::int64_t at = 0;  ///< unix ns
  std::vector<std::pair<std::string, std::string>> details;
};

/// A node as it registers: computed class, status and eligibility are set (R-CTRL-901).
struct NodeRegisterEntry {
  model::Node node;
};

struct NodeStatusEntry {
  std::string node_id, status;
  std::int64_t updated_at = 0;  ///< unix s
  std::optional<NodeEvent> event;
};

struct NodeEligibilityEntry {
  std::string node_id;
  bool eligible = false;
  std::int64_t updated_at = 0;  ///< unix s
  std::optional<NodeEvent> event;
};

/// Sets or clears the drain of nodes (R-CTRL-1001 to 1005).
struct NodeDrainEntry {
  struct Update {
    std::string node_id;
    std::optional<model::DrainStrategy> strategy;  ///< none: the drain ends
    bool mark_eligible = false;                    ///< at a drain's end; when a drain is set, it only unblocks
    bool complete = false;                         ///< the drain ends because no allocation is left, or at its deadline
    json::Retained meta;                           ///< for the last-drain record; null: none was given
    std::optional<NodeEvent> event;
  };
  std::vector<Update> updates;
  std::int64_t updated_at = 0;  ///< unix ns
};

struct NodeDeregisterEntry {
  std::vector<std::string> node_ids;
};

/// Changes of a node by entries since its registration, besides the bits in its row.
struct NodeLife {
  std::optional<model::DrainStrategy> drain_strategy;
  json::Retained last_drain, events;
  std::int64_t status_updated_at = 0;
  std::uint64_t last_missed_heartbeat_index = 0, modify_index = 0;
};

}  // namespace berth::fsm
