#include "run/runner.h"

#include "run/grid_run.h"
#include "run/life_order.h"
#include "run/life_run.h"
#include "run/measured_run.h"
#include "run/replay.h"
#include "sim/load_store.h"
#include "sim/named_strategy.h"

namespace berth::run {
namespace {

Result<void> run_life(const sim::Workload& workload, RunParts parts, const RunOptions& options, Meter& meter,
                      RunResult& result) {
  auto plan = sim::plan_life(workload, parts.inputs.cluster, parts.inputs.jobs);
  if (!plan) return tl::unexpected(plan.error());
  if (parts.queue)
    if (const auto why = LifeOrder::refused(*parts.queue))
      return tl::unexpected(InputError{workload.path, "queue", why->first, why->second});
  LifeRun life(workload, std::move(parts), std::move(*plan), options.observer, result, options.extra_listener);
  meter.begin();
  life.run(options);
  meter.end();
  return {};
}

constexpr OtherRuns kAll{sim::make_inputs, sim::fit_strategy, sim::queue_policy, run_grid, run_life};

}  // namespace

Result<RunResult> run_workload(const sim::Workload& workload, const RunOptions& options) {
  return measured_run(workload, options, kAll);
}

Result<model::ClusterState> state_at(const sim::Workload& given, std::int64_t at_ns) {
  sim::Workload workload = given;
  workload.workers = 1;
  workload.commits = sim::CommitOrder::deterministic;
  workload.arrivals.clock = sim::Clock::skip;
  workload.limits.seconds = 0;  // the state must not depend on the machine's speed
  if (auto problem = refused(workload)) return tl::unexpected(std::move(*problem));
  if (workload.cluster.source == sim::Source::nomad_grid)
    return tl::unexpected(
        InputError{workload.path, "cluster", "has no cluster that lives on", "name another workload"});
  if (workload.life)
    return tl::unexpected(
        InputError{workload.path, "life", "has a life, which is not stopped half-way", "name another workload"});
  auto parts = run_parts(workload, kAll);
  if (!parts) return tl::unexpected(parts.error());
  sim::adopt_configuration(workload, parts->inputs.cluster);
  RunResult result;
  Replay replay(workload, std::move(parts->inputs), std::move(parts->fit), std::move(parts->queue), nullptr, result);
  return replay.run_until(at_ns);
}

}  // namespace berth::run
