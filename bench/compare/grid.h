// `berth compare WORKLOAD`: strategies x seeds on all cores, quality and speed, with the spread over seeds.
//
// A seed determines cluster and jobs (if the workload draws them) and the visiting order of the nodes, the same for
// every strategy. So strategies are compared by their differences per seed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "compare/metrics.h"
#include "compare/statistics.h"
#include "sim/workload.h"

namespace berth::compare {

struct NamedStrategy {
  std::string name;             ///< in reports: the spec's text, or the name of a sum in the workload file
  strategy::StrategySpec spec;  ///< how tasks are placed
  std::optional<strategy::StrategySpec> rule{};       ///< if set: preemption is compared
  const packing::RebalanceInfo* rebalance = nullptr;  ///< if set: rebalancing is compared
  std::optional<strategy::StrategySpec>
      queue{};  ///< if set: queue policies are compared, in replays by the workload's own strategy
};

struct GridRun {
  bool done = false;
  bool resumed = false;  ///< read from a file of an earlier run
  Measured measured;
};

struct GridOptions {
  std::vector<NamedStrategy> strategies;  ///< all with a rule of the same kind, or all without
  std::vector<std::int64_t> seeds;
  packing::Eligibility eligible = packing::Eligibility::nomad;
  packing::Budgets budgets{};
  double ratio = 0.1;  ///< share of the placed tasks that rebalancing may move
  std::size_t threads = 0;
  std::string resume;  ///< file of finished runs; "" = none
  bool quiet = false;
};

struct GridResult {
  const MetricSet* set = &packing_metrics();
  std::string workload, label, how;  ///< how: notes on all runs, "" if none
  std::size_t nodes = 0;
  std::uint64_t asked = 0;
  std::vector<std::string> strategies, left_out;
  std::vector<std::string> approximate;  ///< how the workload differs from what it stands for
  std::vector<std::int64_t> seeds;
  std::vector<GridRun> runs;  ///< strategies x seeds
  double elapsed_s = 0;
  bool partial = false;

  [[nodiscard]] const GridRun& run(std::size_t strategy, std::size_t seed) const {
    return runs[strategy * seeds.size() + seed];
  }
  /// 16 hex digits over the placements of all runs: the same on every machine and for every number of threads.
  [[nodiscard]] std::string digest() const;
  /// Values of a metric of a strategy, for the seeds completed by all strategies.
  [[nodiscard]] std::vector<double> values(std::size_t strategy, std::size_t metric) const;
};

/// `text` is the workload file's content, which must be the same for resumed runs. With --resume each run is stored
/// when it is done, completely or not at all, and not repeated.
[[nodiscard]] Result<GridResult> run_grid(const sim::Workload& workload, const std::string& text,
                                          const GridOptions& options);

/// Error for a workload of independent evaluations, which has no cluster to fill.
[[nodiscard]] Result<void> refuse_grid(const sim::Workload& workload);

[[nodiscard]] std::string grid_table(const GridResult& result, std::size_t width = 0);
[[nodiscard]] std::string grid_markdown(const GridResult& result);
[[nodiscard]] std::string grid_csv(const GridResult& result);
[[nodiscard]] json::Value grid_json(const GridResult& result);

}  // namespace berth::compare
