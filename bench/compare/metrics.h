// What comparisons over a workload measure, one row per metric: name, how it is shown, and where it comes from.
#pragma once

#include <string>
#include <vector>

#include "run/result.h"
#include "sim/packing_replay.h"
#include "sim/preemption_replay.h"
#include "sim/rebalance.h"

namespace berth::compare {

/// What is measured of one run, by name. `direction` +1: more is better, -1: less is better, 0: neither.
struct Metric {
  const char* name;   ///< key in JSON and CSV
  const char* title;  ///< head of a column
  int direction;
  bool speed;  ///< depends on the machine: not part of what must be equal on every run
  int digits;
};
/// What is followed over a run.
struct Curve {
  const char* name;  ///< key in JSON
  const char *title, *unit;
};
/// What a kind of comparison measures; the lists are indices into `all`.
struct MetricSet {
  std::vector<Metric> all{};
  std::vector<std::size_t> shown{};   ///< in tables, where any value is not 0
  std::vector<std::size_t> tested{};  ///< pairwise; more would cost every test its power
  std::vector<std::size_t> front{};   ///< of the Pareto front
  const char* front_words = "";
  std::vector<Curve> curves{};
};
[[nodiscard]] const MetricSet& packing_metrics();
[[nodiscard]] const MetricSet& preemption_metrics();
[[nodiscard]] const MetricSet& rebalance_metrics();
[[nodiscard]] const MetricSet& life_metrics();

/// One run in the terms of its set.
struct Measured {
  std::vector<double> values;               ///< one per metric
  std::vector<double> arrived_percent;      ///< of the arrivals: when the curves were looked at
  std::vector<std::vector<double>> curves;  ///< one per curve, as long as arrived_percent
  std::string digest;
};
[[nodiscard]] Measured measured(const sim::PackingRun& run);
[[nodiscard]] Measured measured(const sim::PreemptionRun& run);
[[nodiscard]] Measured measured(const sim::RebalanceRun& run);
[[nodiscard]] Measured measured(const run::RunResult& run);  ///< of a workload with a life

}  // namespace berth::compare
