// What a workload file stands for: its cluster and its jobs in the order of their arrival.
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
  std::vector<std::string> data_files;  ///< read for them, in this order
};

/// Generates, or reads the data of, everything but nomad-grid, which has neither. Errors are those of the data.
[[nodiscard]] Result<Inputs> make_inputs(const Workload& workload);

/// The same, for a workload without a life whose nodes and jobs are mixes.
[[nodiscard]] Inputs generate_inputs(const Workload& workload);

}  // namespace berth::sim
