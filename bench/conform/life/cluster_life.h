// Random simulation of a whole cluster (engine/living) with drainer, deployment watcher and clients, and every event of
// R-CTRL-E1 to E19. Clients report what their tasks do, so the states are realistic. Simulations of only the server
// (life.h) also reach states that a cluster hardly would.
#pragma once

#include "conform/life/life.h"

namespace berth::conform {

struct ClusterLifeReport : LifeReport {
  model::ClusterState state;  ///< at the end
  std::uint64_t digest = 0;   ///< of all log entries and decisions
  std::uint64_t heartbeats = 0, reports = 0, drains = 0, ended_deployments = 0, lost = 0;
};

/// Does not call `on_commit`. `object_reports`: clients report API objects (living::Config).
[[nodiscard]] ClusterLifeReport run_cluster_life(const LifeOptions& options, bool object_reports = false);

}  // namespace berth::conform
