// The published openb experiment of Weng et al., USENIX ATC 2023 (R-STRAT-401 to 508). Tasks arrive one by one on an
// empty cluster until they have requested 130 % of its GPUs. No task leaves, none is retried. A run has one strategy
// and one seed. The seed determines the order of arrivals, the cloned tasks and the visiting order of the nodes.
//
//   OpenbInput       a node list and a task list, sorted by name, tasks in classes; read by all runs
//   OpenbOrder       the orders drawn from a seed, the same for every strategy
//   OpenbRun         result of a run: series over the arrived percentage, counts, a digest of all placements
//
// GPU amounts are thousandths. Everything here is pure: same input, strategy and seed, same run, on any thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/go_rand.h"
#include "berth/strategy.h"
#include "sim/histogram.h"
#include "sim/openb.h"
#include "strategy/fragments.h"

namespace berth::packing {

struct OpenbInput {
  std::vector<sim::OpenbNode> nodes;  ///< by name, bytewise
  std::vector<sim::OpenbTask> tasks;  ///< by name, bytewise
  std::vector<std::string> models;
  std::vector<std::uint16_t> node_model;  ///< per node, into models
  std::vector<std::uint16_t> node_kind;   ///< per node, into context.rates; empty if the power of a model is unknown
  std::vector<std::uint32_t> task_class;  ///< per task, into classes
  std::vector<std::uint32_t> classes;     ///< a task of each class: equal cpu, memory, GPUs, spec
  std::int64_t gpus = 0;
  std::shared_ptr<const strategy::FragmentTables> fragments;
  strategy::Context context;  ///< without draws

  [[nodiscard]] std::int64_t capacity_milli() const { return gpus * 1000; }
};

/// Sorts and groups the lists and measures the typical workload (from the unchanged list: R-STRAT-201). Fails if there
/// is no GPU, or a node has more than 64.
[[nodiscard]] Result<OpenbInput> openb_input(std::vector<sim::OpenbNode> nodes, const std::string& nodes_path,
                                             std::vector<sim::OpenbTask> tasks);

struct OpenbOrder {
  std::vector<std::uint32_t> arrivals;  ///< tasks
  std::int64_t demand_milli = 0;        ///< of all arrivals
  std::vector<std::uint32_t> rank;      ///< per node: its position in the visiting order
  base::GoRand stream;                  ///< continues where the policy's own draws begin
};

/// R-STRAT-403 to 409. `tune_milli` is the target demand in thousandths of the GPU capacity; 0 = the unchanged list. A
/// list without GPU requests is not cloned. Fails if cloning would need more than 20 million arrivals.
[[nodiscard]] Result<OpenbOrder> openb_order(const OpenbInput& input, std::int64_t seed,
                                             std::int64_t tune_milli = 1300);

/// Columns 0..percent_max: arrived GPU demand in percent of the capacity (R-STRAT-506). NaN: no arrival near it.
struct OpenbSeries {
  std::vector<double> allocation;       ///< % of the GPU capacity, 2 decimals
  std::vector<double> fragment_amount;  ///< % of the GPU capacity, 2 decimals
  std::vector<double> fragment_ratio;   ///< % of the unallocated GPUs
  std::vector<double> power_kw;         ///< of all nodes; NaN everywhere if the power of a model is unknown
};

struct OpenbRun {
  std::string strategy;
  std::int64_t seed = 0;
  std::uint64_t arrivals = 0, placed = 0;
  std::map<std::string, std::uint64_t> failed;  ///< per kind: "cpu", "part", "1", "2", ... devices
  std::int64_t allocated_milli = 0, idle_milli = 0, arrived_milli = 0;
  std::int64_t cpu_used = 0, cpu_capacity = 0, memory_used = 0, memory_capacity = 0;
  std::uint64_t devices_used = 0, nodes_used = 0;
  double fragment = 0;              ///< F of the last row, unrounded
  strategy::FragmentCases cases{};  ///< of the last row
  OpenbSeries series;
  std::string digest;      ///< 16 hex digits (R-STRAT-608)
  double decide_s = 0;     ///< time spent choosing and placing
  sim::Histogram latency;  ///< ns per arrival
};

/// One run (R-STRAT-410, 411). `keep_latency` = false leaves the histogram empty.
[[nodiscard]] Result<OpenbRun> openb_run(const OpenbInput& input, const OpenbOrder& order, std::int64_t seed,
                                         const strategy::Registry& strategies, const strategy::StrategySpec& spec,
                                         bool keep_latency = true);

/// Rounds the exact binary value to two decimals, ties to even, as printf does (R-STRAT-505).
[[nodiscard]] double rounded_to_cents(double value);
/// numpy's pairwise summation (R-STRAT-506).
[[nodiscard]] double pairwise_sum(std::span<const double> values);

}  // namespace berth::packing
