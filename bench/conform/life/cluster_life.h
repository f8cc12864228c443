// The other kind of random life: a living cluster (engine/living) with its drainer, deployment watcher and clients, to
// which every event of R-CTRL-E1 to E19 happens. What clients report follows from what their tasks do, so that states
// are those that a cluster gets into; a life on the bare server (life.h) also sees those that it hardly would.
#pragma once

#include "conform/life/life.h"

namespace berth::conform {

struct ClusterLifeReport : LifeReport {
  model::ClusterState state;  ///< at the end
  std::uint64_t digest = 0;   ///< of all log entries and decisions
  std::uint64_t heartbeats = 0, reports = 0, drains = 0, ended_deployments = 0, lost = 0;
};

/// `on_commit` is not called. `object_reports`: clients report API objects (living::Config).
[[nodiscard]] ClusterLifeReport run_cluster_life(const LifeOptions& options, bool object_reports = false);

}  // namespace berth::conform
