// The metrics of comparisons over a workload: name, display and source of each.
#pragma once

#include <string>
#include <vector>

#include "packing/preemption_replay.h"
#include "packing/rebalance.h"
#include "packing/replay.h"
#include "run/result.h"

namespace berth::compare {

/// A metric of a run. `direction` +1: more is better, -1: less is better, 0: neither.
struct Metric {
  const char* name;   ///< key in JSON and CSV
  const char* title;  ///< column head
  int direction;
  bool speed;  ///< depends on the machine, so it may differ between runs
  int digits;
};
/// A value sampled during a run.
struct Curve {
  const char* name;  ///< key in JSON
  const char *title, *unit;
};
/// The metrics of a kind of comparison. The lists are indices into `all`.
struct MetricSet {
  std::vector<Metric> all{};
  std::vector<std::size_t> shown{};   ///< in tables, if any value is not 0
  std::vector<std::size_t> tested{};  ///< pairwise; more tests would reduce the power of each
  std::vector<std::size_t> front{};   ///< of the Pareto front
  const char* front_words = "";
  std::vector<Curve> curves{};
};
/// Bits: what a workload gives. Some measures of packing need it.
enum Given : unsigned { kPower = 1, kCarbon = 2, kPrice = 4, kAllGiven = 7 };
[[nodiscard]] unsigned given_by(const sim::Workload& workload);
/// The set with the measures of `given`.
[[nodiscard]] const MetricSet& packing_metrics(unsigned given = 0);
[[nodiscard]] const MetricSet& preemption_metrics();
[[nodiscard]] const MetricSet& rebalance_metrics();
[[nodiscard]] const MetricSet& life_metrics();
[[nodiscard]] const MetricSet& queue_metrics();

/// The values of a run for its MetricSet.
struct Measured {
  std::vector<double> values;               ///< one per metric
  std::vector<double> arrived_percent;      ///< share of the arrivals at each sample of the curves
  std::vector<std::vector<double>> curves;  ///< one per curve, as long as arrived_percent
  std::string digest;
};
[[nodiscard]] Measured measured(const packing::PackingRun& run, unsigned given = 0);
[[nodiscard]] Measured measured(const packing::PreemptionRun& run);
[[nodiscard]] Measured measured(const packing::RebalanceRun& run);
[[nodiscard]] Measured measured(const run::RunResult& run);        ///< of a workload with [life]
[[nodiscard]] Measured measured_queue(const run::RunResult& run);  ///< of a replay whose allocations end

}  // namespace berth::compare
