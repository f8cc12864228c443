// A whole cluster state as plain values: the result of an import and the source of an export. The tables are loaded
// from it.
#pragma once

#include "model/codec/out_of_line.h"
#include "model/eval.h"
#include "model/volume.h"

namespace berth::model {

struct ClusterState {
  BERTH_DECLARE_COPIES(ClusterState);
  std::uint64_t index = 0;  ///< latest index of the state, seed of the visiting order (R-FEAS-202)
  std::optional<SchedulerConfiguration> scheduler_config;  ///< absent = no record at all (R-PREEMPT-103)
  std::vector<Node> nodes;
  std::vector<NodePool> node_pools;
  std::vector<Namespace> namespaces;
  std::vector<std::shared_ptr<const Job>> jobs;          ///< the current version of every job
  std::vector<std::shared_ptr<const Job>> job_versions;  ///< every stored version, the current ones included
  std::vector<Allocation> allocs;
  std::vector<Evaluation> evals;
  std::vector<Deployment> deployments;
  std::vector<HostVolume> host_volumes;
  std::vector<HostVolumeClaim> host_volume_claims;
  std::vector<CsiVolume> csi_volumes;
  std::vector<CsiPlugin> csi_plugins;
};

}  // namespace berth::model
