// A workload as PackingTrial and PackingWorlds (berth/packing.h) share it.
#pragma once

#include <vector>

#include "berth/packing.h"
#include "sim/packing_problem.h"

namespace berth {

struct PackingTrial::Prepared {
  sim::Workload workload;
  std::int64_t seed;
  sim::PackingProblem problem;
  strategy::Context context;
  std::vector<std::uint32_t> order;  ///< row -> node
};

}  // namespace berth
