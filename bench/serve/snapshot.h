// A simulation as one file: the state of its cluster and what the state machine keeps beside it.
//
//   {"Format": "berth-serve-snapshot", "Version": 1, "Now": ns, "Cluster": CLUSTER.json, "Tables": {name: index},
//    "Jobs": [{"Namespace", "ID", "Summary", "Submissions", "Scaling"}], "Stores": {...}}; secrets of tokens and keys
//    are in it
//
// A file appears whole or not at all, whatever happens meanwhile. Tasks that ran go on running and end when they would
// have; what messages were under way between clients and server is not in it, nor are injected faults.
#pragma once

#include <functional>
#include <string>

#include "berth/result.h"
#include "fsm/state_log.h"
#include "model/cluster.h"

namespace berth::serve {

class Simulation;

/// What a snapshot is made of, taken on the simulation's thread; the rest can be done on any.
struct SnapshotParts {
  tables::SnapshotRef state;
  std::vector<model::Node> nodes;  ///< with their lives, which tables do not hold
  std::vector<fsm::JobRecord> jobs;
  std::array<std::uint64_t, fsm::kTables> tables{};
  std::function<json::Value()> stores;  ///< makes the text of what the stores hold
  std::int64_t now_ns = 0;
};
[[nodiscard]] SnapshotParts take_parts(Simulation& simulation);
[[nodiscard]] json::Value snapshot_json(const SnapshotParts& parts);

struct Restored {
  model::ClusterState state;
  std::int64_t now_ns = 0;
  json::Value rest;  ///< the document without the cluster
};
[[nodiscard]] Result<Restored> read_snapshot(const std::string& path);
/// The simulation becomes what was stored; on its thread.
void restore(Simulation& simulation, Restored restored);

}  // namespace berth::serve
