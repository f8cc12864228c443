// The inputs of a workload: its cluster, and its jobs in order of arrival.
#pragma once

#include <string>
#include <vector>

#include "berth/result.h"
#include "sim/generated_cluster.h"
#include "sim/job_stream.h"
#include "sim/workload.h"

namespace berth::sim {

struct Inputs {
  GeneratedCluster cluster;
  JobStream jobs;
  std::vector<double> carbon;           ///< g per kWh by hour of the day: 24, or none
  std::vector<std::string> data_files;  ///< files read for the inputs, in this order
  std::vector<std::string>
      estimates;  ///< how arrivals and run times of an imported cluster were estimated, one per line
};

/// Generates or reads the cluster and jobs of a workload; not for nomad-grid, which has neither. Errors come from the
/// data.
[[nodiscard]] Result<Inputs> make_inputs(const Workload& workload);

/// The same for a workload without [life] whose nodes and jobs are mixes; it cannot fail.
[[nodiscard]] Inputs generate_inputs(const Workload& workload);

}  // namespace berth::sim
