#include "sim/fit_strategy.h"

#include "sim/packing_problem.h"

namespace berth::sim {

Result<FitStrategy> fit_strategy(const Workload& workload, const GeneratedCluster& cluster, const JobStream& jobs) {
  const auto spec = named_strategy(workload, workload.strategy);
  if (!spec) return tl::unexpected(spec.error());
  auto problem = packing_problem(cluster, jobs, workload.cluster.gpu_shares, workload.path);
  if (!problem) return tl::unexpected(problem.error());
  auto ranker = strategy::registry().make_fit(*spec, problem->context());
  if (!ranker) return tl::unexpected(ranker.error());
  return FitStrategy{std::move(*ranker), std::move(problem->models), workload.cluster.gpu_shares};
}

}  // namespace berth::sim
