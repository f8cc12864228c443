#include "sim/fit_strategy.h"

#include <utility>

#include "sim/packing_problem.h"

namespace berth::sim {

Result<strategy::StrategySpec> named_strategy(const Workload& workload, const std::string& text) {
  const auto sum = workload.strategies.find(text);
  auto spec = strategy::registry().parse(sum == workload.strategies.end() ? text : sum->second);
  if (!spec) {
    const char* before = "; in the workload: ";
    for (const auto& [name, unused] : workload.strategies) {
      spec.error().remedy += std::exchange(before, ", ");
      spec.error().remedy += name;
    }
  }
  return spec;
}

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
