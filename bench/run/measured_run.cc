#include "run/measured_run.h"

#include <sys/resource.h>

#include "run/replay.h"
#include "run/work.h"
#include "sim/datasets.h"
#include "sim/load_store.h"

namespace berth::run {
namespace {

/// Adds Nomad's times to the result if the real Nomad was timed with this whole workload.
Result<void> find_nomad_times(const sim::Workload& workload, std::size_t arrivals, RunResult& result) {
  const auto path = sim::committed_data(workload.path, "nomad-" + workload.name + ".csv.gz");
  if (workload.label != "full" || !path) return {};
  auto times = read_nomad_times(*path);
  if (!times) return tl::unexpected(times.error());
  if (times->evaluations.size() == arrivals) result.nomad = std::move(*times);
  return {};
}

/// Voluntary context switches of all threads so far.
std::uint64_t context_switches() {
  struct rusage usage {};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_nvcsw);
}

InputError not_here(const sim::Workload& workload) {
  return {workload.path, "", "is more than a plain replay, which is all that this program can do",
          "use the whole program, build/release/berth"};
}

}  // namespace

void Meter::begin() {
  result_.setup_s = seconds_since(start_);
  if (options_.allocations) before_ = options_.allocations();
  switches_before_ = context_switches();
  cpu_before_ = std::clock();
}

void Meter::end() {
  result_.cpu_s = static_cast<double>(std::clock() - cpu_before_) / CLOCKS_PER_SEC;
  result_.parallel.switches = context_switches() - switches_before_;
  if (!options_.allocations) return;
  const AllocationCount now = options_.allocations();
  result_.allocations = AllocationCount{now.count - before_.count, now.bytes - before_.bytes};
}

std::optional<InputError> refused(const sim::Workload& workload) {
  if (workload.life && workload.commits != sim::CommitOrder::deterministic)
    return InputError{workload.path, "commits", "the plans of a life are committed in turn",
                      "leave out --order free; berth serve has it"};
  if (workload.cluster.source == sim::Source::nomad_grid && workload.strategy != "nomad")
    return InputError{workload.path, "strategy", "nomad-grid is compared with what Nomad decided",
                      "leave out the strategy"};
  if (workload.queue == "priority") return std::nullopt;
  const auto refuse = [&](const char* problem, const char* remedy) {
    return InputError{workload.path, "queue", problem, remedy};
  };
  if (workload.cluster.source == sim::Source::nomad_grid)
    return refuse("every cell of nomad-grid is one evaluation of its own", "leave out the queue policy");
  if (workload.commits != sim::CommitOrder::deterministic)
    return refuse("workers that commit in any order take evaluations as they come", "leave out --order free");
  return std::nullopt;
}

Result<RunParts> run_parts(const sim::Workload& workload, const OtherRuns& others, std::size_t arrivals_max) {
  auto inputs = others.inputs ? others.inputs(workload) : sim::generate_inputs(workload);
  if (!inputs) return tl::unexpected(inputs.error());
  std::vector<sim::JobArrival>& arrivals = inputs->jobs.arrivals;
  if (arrivals_max > 0 && arrivals.size() > arrivals_max) arrivals.resize(arrivals_max);
  if (auto read = sim::read_meta(workload.path, inputs->jobs); !read) return tl::unexpected(read.error());
  RunParts out{std::move(*inputs), std::nullopt, nullptr};
  if (workload.strategy != "nomad") {
    auto fit = others.strategy(workload, out.inputs.cluster, out.inputs.jobs);
    if (!fit) return tl::unexpected(fit.error());
    out.fit = std::move(*fit);
  }
  if (workload.queue != "priority") {
    auto queue = others.queue(workload, out.inputs.jobs);
    if (!queue) return tl::unexpected(queue.error());
    out.queue = std::move(*queue);
  }
  return out;
}

Result<RunResult> measured_run(const sim::Workload& workload, const RunOptions& options, const OtherRuns& others) {
  if (const auto error = refused(workload)) return tl::unexpected(*error);
  const bool grid = workload.cluster.source == sim::Source::nomad_grid;
  const bool mixes = workload.cluster.source == sim::Source::mix && workload.jobs.source == sim::Source::mix;
  if ((grid && !others.grid) || (workload.life && !others.life) || (!mixes && !others.inputs) ||
      (workload.strategy != "nomad" && !others.strategy) || (workload.queue != "priority" && !others.queue))
    return tl::unexpected(not_here(workload));
  RunResult result;
  result.workload = workload;
  std::vector<std::string> data_files;
  Meter meter(options, result);
  if (grid) {
    meter.begin();
    if (auto done = others.grid(workload, options, result); !done) return tl::unexpected(done.error());
    meter.end();
    if (const auto path = sim::committed_data(workload.path, "nomad-grid.jsonl.gz")) data_files.push_back(*path);
    if (options.hdr_log) {  // its evaluations are timed in parallel: one interval
      HdrLog log = Measuring::hdr_log_of(workload);
      log.record_all(result.evaluation_latency);
      result.hdr_log = log.finish(result.elapsed_s);
    }
  } else {
    auto parts = run_parts(workload, others, options.arrivals_max);
    if (!parts) return tl::unexpected(parts.error());
    data_files = std::move(parts->inputs.data_files);
    data_files.insert(data_files.end(), workload.templates.begin(), workload.templates.end());
    result.estimates = std::move(parts->inputs.estimates);
    sim::adopt_configuration(result.workload, parts->inputs.cluster);
    if (auto done = find_nomad_times(workload, parts->inputs.jobs.arrivals.size(), result); !done)
      return tl::unexpected(done.error());
    if (workload.life) {
      if (auto done = others.life(workload, std::move(*parts), options, meter, result); !done)
        return tl::unexpected(done.error());
    } else {
      Replay replay(result.workload, std::move(parts->inputs), std::move(parts->fit), std::move(parts->queue),
                    options.observer, result, options.extra_listener);
      meter.begin();
      replay.run(options);
      meter.end();
    }
  }
  struct rusage usage {};
  getrusage(RUSAGE_SELF, &usage);
  result.peak_rss_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
  result.workload_sha256 = sha256_of_files({workload.path});
  result.data_sha256 = sha256_of_files(data_files);
  return result;
}

}  // namespace berth::run
