// A run from its workload to its result. The run itself is the replay or one of OtherRuns. Simulations and Nomad's grid
// are not linked here because they are much code, which would delay the build of the main job (bench/cli/main_job.cc).
#pragma once

#include <chrono>
#include <ctime>
#include <memory>
#include <optional>

#include "berth/queue.h"
#include "run/runner.h"
#include "sim/inputs.h"
#include "sim/named_strategy.h"

namespace berth::run {

/// Measures a run's time: set-up until begin(), running until end().
class Meter {
 public:
  Meter(const RunOptions& options, RunResult& result) : options_(options), result_(result) {}
  void begin();
  void end();

 private:
  const RunOptions& options_;
  RunResult& result_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  AllocationCount before_;
  std::clock_t cpu_before_ = 0;
  std::uint64_t switches_before_ = 0;
};

struct RunParts {
  sim::Inputs inputs;
  std::optional<sim::FitStrategy> fit;           ///< the strategy that replaces Nomad's fit; nullopt: Nomad's own
  std::unique_ptr<strategy::QueuePolicy> queue;  ///< null: Nomad's order of evaluations
};
/// Functions not needed by simple replays with Nomad's own ranking. Null: not linked; such a workload is refused.
struct OtherRuns {
  Result<sim::Inputs> (*inputs)(const sim::Workload& workload) = nullptr;  ///< of workloads that are not mixes
  Result<sim::FitStrategy> (*strategy)(const sim::Workload& workload, const sim::GeneratedCluster& cluster,
                                       const sim::JobStream& jobs) = nullptr;
  Result<std::unique_ptr<strategy::QueuePolicy>> (*queue)(const sim::Workload& workload,
                                                          const sim::JobStream& jobs) = nullptr;
  Result<void> (*grid)(const sim::Workload& workload, const RunOptions& options, RunResult& result) = nullptr;
  Result<void> (*life)(const sim::Workload& workload, RunParts parts, const RunOptions& options, Meter& meter,
                       RunResult& result) = nullptr;
};

/// The parts of a run of a workload other than nomad-grid. `arrivals_max`: most jobs to play; 0: all.
[[nodiscard]] Result<RunParts> run_parts(const sim::Workload& workload, const OtherRuns& others,
                                         std::size_t arrivals_max = 0);
/// Like run_workload().
[[nodiscard]] Result<RunResult> measured_run(const sim::Workload& workload, const RunOptions& options,
                                             const OtherRuns& others);
/// Error in the workload as a whole, if any.
[[nodiscard]] std::optional<InputError> refused(const sim::Workload& workload);

}  // namespace berth::run
