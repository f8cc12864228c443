// Implements include/berth/packing.h: packs a workload with one strategy, or with many.
#include "berth/packing.h"

#include "api/packing_trial.h"
#include "packing/replay.h"
#include "sim/datasets.h"
#include "sim/named_strategy.h"

namespace berth {

Result<PackingTrial> PackingTrial::prepare(const std::string& name, const std::string& label, std::int64_t seed) {
  const auto path = sim::find_workload(name);
  if (!path) return tl::unexpected(path.error());
  auto workload = sim::read_workload(*path, label);
  if (!workload) return tl::unexpected(workload.error());
  if (workload->life || workload->cluster.source == sim::Source::nomad_grid)
    return tl::unexpected(InputError{workload->path, "", "is not packed: its evaluations are not one stream of tasks",
                                     "name another workload, e.g. quickstart"});
  auto problem = sim::packing_problem(*workload, seed);
  if (!problem) return tl::unexpected(problem.error());
  auto context = problem->context();
  auto order = sim::visiting_order(problem->nodes.size(), seed);
  return PackingTrial(std::make_shared<const Prepared>(
      Prepared{std::move(*workload), seed, std::move(*problem), std::move(context), std::move(order)}));
}

Result<PackingResult> PackingTrial::pack(const std::string& strategy) const {
  const auto spec = sim::named_strategy(prepared_->workload, strategy);
  if (!spec) return tl::unexpected(spec.error());
  return pack(*spec, strategy::registry());
}

Result<PackingResult> PackingTrial::pack(const strategy::StrategySpec& strategy,
                                         const strategy::Registry& strategies) const {
  const Prepared& of = *prepared_;
  const auto run = packing::replay_packing(
      of.problem, of.context, of.order,
      {.seed = of.seed, .departures = of.workload.departures, .moments = true, .run_times = true}, strategies,
      strategy);
  if (!run) return tl::unexpected(run.error());
  PackingResult out;
  out.placed_percent = run->placed_percent(), out.priority_placed_percent = run->priority_placed_percent;
  out.used_percent = run->quality.used_percent, out.stranded_percent = run->quality.stranded_percent;
  out.fragmentation_percent = run->quality.fragmentation_percent;
  out.gpu_fragment_percent = run->quality.gpu_fragment_percent;
  out.nodes_used_percent = run->quality.nodes_used_percent, out.balance_points = run->quality.balance;
  out.empty_nodes_percent = run->over_time.empty_nodes;
  out.cpu_without_memory_percent = run->over_time.cpu_without_memory;
  out.memory_without_cpu_percent = run->over_time.memory_without_cpu;
  if (const packing::Regret& regret = run->regret; regret.decisions > 0) {
    out.regret_mean = regret.sum / static_cast<double>(regret.decisions);
    out.regret_p99 = static_cast<double>(regret.billionths.percentile(99)) / 1e9;
    out.not_best_percent = 100 * static_cast<double>(regret.not_best) / static_cast<double>(regret.decisions);
  }
  out.decisions_per_s = run->decide_s == 0 ? 0 : static_cast<double>(run->latency.count()) / run->decide_s;
  out.latency_p50_ns = run->latency.percentile(50), out.latency_p99_ns = run->latency.percentile(99);
  out.latency_p999_ns = run->latency.percentile(99.9);
  if (sim::gives_power(of.workload))
    out.power_mean_kw = run->power.power_mean_kw, out.energy_kwh = run->power.energy_kwh;
  if (of.workload.carbon) out.carbon_kg = run->power.carbon_kg;
  if (sim::gives_price(of.workload)) out.price = run->power.price;
  out.digest = run->digest;
  return out;
}

Result<PackingResult> pack(const std::string& workload, const std::string& label, std::int64_t seed,
                           const std::string& strategy) {
  const auto trial = PackingTrial::prepare(workload, label, seed);
  if (!trial) return tl::unexpected(trial.error());
  return trial->pack(strategy);
}

}  // namespace berth
