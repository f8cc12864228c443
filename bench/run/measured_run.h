// One run from its workload to its result. The run itself is the replay, or what is handed in: lives and Nomad's grid
// bring much code with them, which the program of the main job (bench/cli/main_job.cc) does not wait for.
#pragma once

#include <chrono>
#include <ctime>
#include <optional>

#include "run/runner.h"
#include "sim/fit_strategy.h"
#include "sim/inputs.h"

namespace berth::run {

/// What a run takes: until begin() it is set up, until end() it runs.
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
  std::optional<sim::FitStrategy> fit;  ///< the strategy in place of Nomad's; none: Nomad's own
};
/// What plain replays with Nomad's own ranking do without. Null: not in this program, which refuses it.
struct OtherRuns {
  Result<sim::Inputs> (*inputs)(const sim::Workload& workload) = nullptr;  ///< that are more than mixes
  Result<sim::FitStrategy> (*strategy)(const sim::Workload& workload, const sim::GeneratedCluster& cluster,
                                       const sim::JobStream& jobs) = nullptr;
  Result<void> (*grid)(const sim::Workload& workload, const RunOptions& options, RunResult& result) = nullptr;
  Result<void> (*life)(const sim::Workload& workload, RunParts parts, const RunOptions& options, Meter& meter,
                       RunResult& result) = nullptr;
};

/// What a workload that is no grid runs on. `arrivals_max`: only the first so many jobs; 0: all.
[[nodiscard]] Result<RunParts> run_parts(const sim::Workload& workload, const OtherRuns& others,
                                         std::size_t arrivals_max = 0);
/// As run_workload().
[[nodiscard]] Result<RunResult> measured_run(const sim::Workload& workload, const RunOptions& options,
                                             const OtherRuns& others);
/// What is wrong with a workload as a whole, if anything.
[[nodiscard]] std::optional<InputError> refused(const sim::Workload& workload);

}  // namespace berth::run
