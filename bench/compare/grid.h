// `berth compare WORKLOAD`: strategies x seeds on all cores, quality beside speed, with the spread over seeds.
//
// A seed makes its own cluster and jobs (where the workload draws them) and its own visiting order of the nodes, the
// same for every strategy, so strategies are compared by the differences per seed.
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
  std::string name;             ///< as shown: the spec's text, or the name of a sum in the workload file
  strategy::StrategySpec spec;  ///< how tasks are placed
  std::optional<strategy::StrategySpec> rule{};   ///< with a rule: preemption is compared
  const sim::RebalanceInfo* rebalance = nullptr;  ///< with one: moving tasks is compared
};

struct GridRun {
  bool done = false;
  bool resumed = false;  ///< read from a file of an earlier run
  Measured measured;
};

struct GridOptions {
  std::vector<NamedStrategy> strategies;  ///< all with a rule of one kind, or all without
  std::vector<std::int64_t> seeds;
  sim::Eligibility eligible = sim::Eligibility::nomad;
  sim::Budgets budgets{};
  double ratio = 0.1;  ///< of the placed tasks that rebalancing may move
  std::size_t threads = 0;
  std::string resume;  ///< folder of finished runs; "" = none
  bool quiet = false;
};

struct GridResult {
  const MetricSet* set = &packing_metrics();
  std::string workload, label, how;  ///< how: what is common to all runs, "" when there is nothing to say
  std::size_t nodes = 0;
  std::uint64_t asked = 0;
  std::vector<std::string> strategies, left_out;
  std::vector<std::int64_t> seeds;
  std::vector<GridRun> runs;  ///< strategies x seeds
  double elapsed_s = 0;
  bool partial = false;

  [[nodiscard]] const GridRun& run(std::size_t strategy, std::size_t seed) const {
    return runs[strategy * seeds.size() + seed];
  }
  /// 16 hex digits over the placements of every run: the same on every machine and for every number of threads.
  [[nodiscard]] std::string digest() const;
  /// One metric of one strategy over the seeds that were done by all strategies.
  [[nodiscard]] std::vector<double> values(std::size_t strategy, std::size_t metric) const;
};

/// `text` is the workload file's content: what a resumed run must agree in. With --resume each run is written when it
/// is done, whole or not at all, and not run again.
[[nodiscard]] Result<GridResult> run_grid(const sim::Workload& workload, const std::string& text,
                                          const GridOptions& options);

/// An error for a workload whose evaluations are independent of each other: no strategy has a cluster to fill.
[[nodiscard]] Result<void> refuse_grid(const sim::Workload& workload);

[[nodiscard]] std::string grid_table(const GridResult& result, std::size_t width = 0);
[[nodiscard]] std::string grid_markdown(const GridResult& result);
[[nodiscard]] std::string grid_csv(const GridResult& result);
[[nodiscard]] json::Value grid_json(const GridResult& result);

}  // namespace berth::compare
