#include "server/surroundings.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "model/job.h"
#include "strategy/fragments.h"
#include "tables/state.h"

namespace berth::server {

Surroundings surroundings_of(const tables::Snapshot& state) {
  Surroundings out;
  strategy::Amounts& most = out.context.capacity_max;
  for (tables::NodeRow row = 0; row < state.nodes.size(); ++row) {
    if (!state.nodes.exists(row)) continue;
    const tables::NodeCapacity& capacity = state.nodes.capacity(row);
    const std::int64_t amounts[] = {capacity.cpu_mhz, capacity.memory_mb, capacity.disk_mb};
    for (std::size_t d = 0; d < std::size(amounts); ++d)
      most[d] = std::max(most[d], static_cast<std::int32_t>(std::min<std::int64_t>(amounts[d], 1'900'000'000)));
    const auto& resources = state.nodes.spec(row).node.node_resources;
    if (!resources || resources->devices.empty()) continue;
    const model::NodeDevice& group = resources->devices.front();
    const auto devices = static_cast<std::int32_t>(std::min(group.instances.size(), strategy::kDevicesMax));
    most[strategy::kGpu] = std::max(most[strategy::kGpu], devices * strategy::kWholeDevice);
    std::string name = group.vendor + "/" + group.type + "/" + group.name;
    if (std::find(out.models.begin(), out.models.end(), name) == out.models.end())
      out.models.push_back(std::move(name));
  }
  std::vector<strategy::ShapeCount> shapes;
  double asked = 0;
  for (tables::JobKeyRow row = 0; row < state.jobs.keys.size(); ++row) {
    const tables::VersionRow current = state.jobs.keys[row].current;
    if (current == tables::kNoRow) continue;
    const tables::CompiledJob& job = *state.jobs.versions[current];
    if (job.stopped) continue;
    for (const tables::CompiledGroup& group : job.groups) {
      if (group.count <= 0) continue;
      const strategy::TaskClass task = sched::task_class_of(group, job.priority);
      shapes.push_back(
          {task.ask[strategy::kCpu], task.gpus, task.gpu_milli, "", static_cast<std::uint64_t>(group.count)});
      asked += static_cast<double>(group.count);
      for (std::size_t d = 0; d < strategy::kDimensions; ++d)
        out.context.demand_mean[d] += static_cast<double>(group.count) * task.ask[d];
    }
  }
  for (double& mean : out.context.demand_mean) mean = asked > 0 ? mean / asked : 0;
  out.context.fragments =
      std::make_shared<strategy::FragmentTables>(strategy::typical_workload(std::move(shapes)), out.models);
  return out;
}

void ScoringStrategy::use_in(sched::StrategyFit& fit) const {
  if (ranker)
    fit.use(ranker->fit(), models);
  else
    fit.use({});
}

Result<ScoringStrategy> scoring_strategy(std::string_view text, const tables::Snapshot& state) {
  const auto spec = strategy::registry().parse(text);
  if (!spec) return tl::unexpected(spec.error());
  Surroundings around = surroundings_of(state);
  auto ranker = strategy::registry().make_fit(*spec, around.context);
  if (!ranker) return tl::unexpected(ranker.error());
  return ScoringStrategy{std::move(*ranker), std::move(around.models)};
}

Result<void> check_scoring_strategy(std::string_view text) {
  const tables::StateStore empty;
  if (const auto made = scoring_strategy(text, empty.current()); !made) return tl::unexpected(made.error());
  return {};
}

}  // namespace berth::server
