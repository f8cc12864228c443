#include "run/runner.h"

#include <sys/resource.h>

#include <chrono>
#include <ctime>
#include <optional>

#include "run/grid_run.h"
#include "run/life_run.h"
#include "run/replay.h"
#include "run/work.h"
#include "sim/datasets.h"

namespace berth::run {
namespace {

using Steady = std::chrono::steady_clock;

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

/// What the workload asks for and this build does not do.
std::optional<InputError> refused(const sim::Workload& workload) {
  if (workload.life && (workload.workers > 1 || workload.commits != sim::CommitOrder::deterministic))
    return InputError{workload.path, "workers", "a life has one worker, whose plans are committed in turn",
                      "leave out --workers and --order"};
  if (workload.cluster.source == sim::Source::nomad_grid && workload.strategy != "nomad")
    return InputError{workload.path, "strategy", "nomad-grid is compared with what Nomad decided",
                      "leave out the strategy"};
  return std::nullopt;
}

/// The strategy in place of Nomad's; none: Nomad's own.
Result<std::optional<sim::FitStrategy>> fit_of(const sim::Workload& workload, const sim::Inputs& inputs) {
  if (workload.strategy == "nomad") return std::nullopt;
  auto made = sim::fit_strategy(workload, inputs.cluster, inputs.jobs);
  if (!made) return tl::unexpected(made.error());
  return std::move(*made);
}

/// Where the real Nomad was timed with such a workload, all of it, its times go beside berth's.
Result<void> find_nomad_times(const sim::Workload& workload, std::size_t arrivals, RunResult& result) {
  const auto path = sim::committed_data(workload.path, "nomad-" + workload.name + ".csv.gz");
  if (workload.label != "full" || !path) return {};
  auto times = read_nomad_times(*path);
  if (!times) return tl::unexpected(times.error());
  if (times->evaluations.size() == arrivals) result.nomad = std::move(*times);
  return {};
}

}  // namespace

Result<RunResult> run_workload(const sim::Workload& workload, const RunOptions& options) {
  if (const auto error = refused(workload)) return tl::unexpected(*error);
  const auto start = Steady::now();
  RunResult result;
  result.workload = workload;
  std::vector<std::string> data_files;
  AllocationCount before;
  const auto count_allocations = [&] {
    if (!options.allocations) return;
    const AllocationCount now = options.allocations();
    result.allocations = AllocationCount{now.count - before.count, now.bytes - before.bytes};
  };
  if (workload.cluster.source == sim::Source::nomad_grid) {
    if (options.allocations) before = options.allocations();
    const double cpu_before = cpu_seconds();
    if (auto done = run_grid(workload, options, result); !done) return tl::unexpected(done.error());
    result.cpu_s = cpu_seconds() - cpu_before;
    count_allocations();
    if (const auto path = sim::committed_data(workload.path, "nomad-grid.jsonl.gz")) data_files.push_back(*path);
    if (options.hdr_log) {  // its evaluations are timed side by side: one interval
      HdrLog log = Measuring::hdr_log_of(workload);
      log.record_all(result.evaluation_latency);
      result.hdr_log = log.finish(result.elapsed_s);
    }
  } else {
    auto inputs = sim::make_inputs(workload);
    if (!inputs) return tl::unexpected(inputs.error());
    data_files = std::move(inputs->data_files);
    std::vector<sim::JobArrival>& arrivals = inputs->jobs.arrivals;
    if (options.arrivals_max > 0 && arrivals.size() > options.arrivals_max) arrivals.resize(options.arrivals_max);
    if (auto done = find_nomad_times(workload, arrivals.size(), result); !done) return tl::unexpected(done.error());
    auto fit = fit_of(workload, *inputs);
    if (!fit) return tl::unexpected(fit.error());
    const auto measure = [&](auto& runs) {
      result.setup_s = seconds_since(start);
      if (options.allocations) before = options.allocations();
      const double cpu_before = cpu_seconds();
      runs.run(options);
      result.cpu_s = cpu_seconds() - cpu_before;
      count_allocations();
    };
    if (workload.life) {
      auto plan = sim::plan_life(workload, inputs->cluster, inputs->jobs);
      if (!plan) return tl::unexpected(plan.error());
      LifeRun life(workload, std::move(*inputs), std::move(*plan), std::move(*fit), options.observer, result);
      measure(life);
    } else {
      Replay replay(workload, std::move(*inputs), std::move(*fit), options.observer, result);
      measure(replay);
    }
  }
  struct rusage usage {};
  getrusage(RUSAGE_SELF, &usage);
  result.peak_rss_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
  result.workload_sha256 = sha256_of_files({workload.path});
  result.data_sha256 = sha256_of_files(data_files);
  return result;
}

Result<model::ClusterState> state_at(const sim::Workload& given, std::int64_t at_ns) {
  sim::Workload workload = given;
  workload.workers = 1;
  workload.commits = sim::CommitOrder::deterministic;
  workload.arrivals.clock = sim::Clock::skip;
  workload.limits.seconds = 0;  // the state must not depend on the speed of the machine
  if (auto problem = refused(workload)) return tl::unexpected(std::move(*problem));
  if (workload.cluster.source == sim::Source::nomad_grid)
    return tl::unexpected(
        InputError{workload.path, "cluster", "has no cluster that lives on", "name another workload"});
  if (workload.life)
    return tl::unexpected(
        InputError{workload.path, "life", "has a life, which is not stopped half-way", "name another workload"});
  auto inputs = sim::make_inputs(workload);
  if (!inputs) return tl::unexpected(inputs.error());
  auto fit = fit_of(workload, *inputs);
  if (!fit) return tl::unexpected(fit.error());
  RunResult result;
  Replay replay(workload, std::move(*inputs), std::move(*fit), nullptr, result);
  return replay.run_until(at_ns);
}

}  // namespace berth::run
