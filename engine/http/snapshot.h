// A snapshot: a simulation in one file, with the cluster's state and further data of the state machine.
//
//   {"Format": "berth-serve-snapshot", "Version": 1, "Now": ns, "Cluster": CLUSTER.json, "Tables": {name: index},
//    "Jobs": [{"Namespace", "ID", "Summary", "Submissions", "Scaling"}], "Stores": {...}}; secrets of tokens and keys
//    are in it
//
// A file appears completely or not at all. Running tasks continue and end at their time. Messages between clients and
// server, and injected faults, are not included.
#pragma once

#include <functional>
#include <string>

#include "base/json.h"
#include "berth/result.h"
#include "fsm/state_log.h"
#include "model/cluster.h"

namespace berth::http {

class Simulation;

/// The parts of a snapshot, taken on the simulation's thread; any thread can write them.
struct SnapshotParts {
  tables::SnapshotRef state;
  std::vector<model::Node> nodes;  ///< with data that tables do not contain
  std::vector<fsm::JobRecord> jobs;
  std::array<std::uint64_t, fsm::kTables> tables{};
  std::function<json::Value()> stores;  ///< makes the JSON of the stores
  std::uint64_t log_index = 0;          ///< of the newest log entry; at least the state's
  std::int64_t now_ns = 0;
};
[[nodiscard]] SnapshotParts take_parts(Simulation& simulation);
[[nodiscard]] model::ClusterState cluster_of(const SnapshotParts& parts);
[[nodiscard]] json::Value snapshot_json(const SnapshotParts& parts);
/// The cluster as the file that `nomad operator snapshot save` writes: without the stores, summaries and submissions.
[[nodiscard]] std::string nomad_snapshot(const SnapshotParts& parts);

struct Restored {
  model::ClusterState state;
  std::int64_t now_ns = 0;
  json::Value rest;  ///< the document without the cluster
};
[[nodiscard]] Result<Restored> read_snapshot(const std::string& path);
/// Replaces the simulation by the stored one; on its thread.
void restore(Simulation& simulation, Restored restored);

}  // namespace berth::http
