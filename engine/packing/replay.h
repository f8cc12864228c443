// A packing problem replayed with one strategy on a virtual clock: tasks arrive, are placed at once or dropped, and
// leave when their run time is over. Same problem, order, strategy and seed: same placements, on any machine and
// thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "packing/fleet_over_time.h"
#include "packing/power.h"
#include "sim/histogram.h"
#include "sim/packing_problem.h"

namespace berth::packing {

/// How well a fleet is packed. Percentages of the capacity; a dimension without capacity is 0.
struct PackingQuality {
  std::array<double, strategy::kDimensions> used_percent{};
  std::array<double, strategy::kDimensions> stranded_percent{};  ///< free on nodes that cannot hold the mean request
  double fragmentation_percent = 0;  ///< 1 - mean requests that fit node by node / in one node with all free amounts
  double gpu_fragment_percent = 0;   ///< F of R-STRAT-216 in % of all GPUs
  double nodes_used_percent = 0;
  double balance = 0;  ///< standard deviation over nodes of the largest used share, in points
};
[[nodiscard]] PackingQuality measure_quality(const strategy::Fleet& fleet, const strategy::Context& context);

/// Number of measurements during a run, evenly spaced over the arrivals, the last one included. Fewer if fewer tasks
/// arrive.
inline constexpr std::size_t kMoments = 20;
/// A measurement after `arrived_percent` of the arrivals.
struct PackingMoment {
  double arrived_percent = 0;
  double placed_percent = 0;  ///< of the tasks that arrived
  PackingQuality quality;
  double power_kw = 0;
};

/// What a strategy that compares some nodes only loses against the same scores over all nodes, per decision: best score
/// of all feasible nodes less the chosen node's. In the units of the inner strategy's score.
struct Regret {
  std::uint64_t decisions = 0;  ///< 0: the strategy compares all nodes, or has no scores, or has no scores
  std::uint64_t not_best = 0;   ///< of these, with regret
  double sum = 0;
  sim::Histogram billionths;  ///< of the score's unit
  void record(std::span<const double> scores, strategy::Exclusion without, strategy::Row chosen);
};

struct PackingRun {
  std::uint64_t asked = 0, placed = 0;
  double priority_placed_percent = 0;  ///< placed share, each task weighted by its priority
  PackingQuality quality;              ///< after the last arrival; with departures the mean of all moments
  PowerUse power;                      ///< 0 if the problem has no rates
  std::string digest;                  ///< of all placements, 16 hex digits
  double decide_s = 0;
  sim::Histogram latency;              ///< ns per decision
  std::vector<PackingMoment> moments;  ///< at most kMoments
  /// With departures over time, else after the last arrival. 0 if the fleet is not measured during the run.
  FleetMeans over_time;
  Regret regret;
  [[nodiscard]] double placed_percent() const {
    return asked == 0 ? 100 : 100 * static_cast<double>(placed) / static_cast<double>(asked);
  }
};

/// A task that the workload placed.
struct PlacedTask {
  strategy::Row row = 0;
  strategy::ClassId task = 0;
  strategy::DeviceMask devices = 0;
  std::uint32_t job = 0;
  bool distinct_hosts = false;
};

struct ReplayOptions {
  std::int64_t seed = 1;    ///< of strategies that draw
  bool departures = false;  ///< tasks end after their run time
  bool with_load = true;    ///< place the problem's load first
  bool moments = false;     ///< measure the fleet during the run (always done with departures)
  /// Predict run times for strategies that read them, which are refused otherwise. The arrivals are in order of time.
  bool run_times = false;
  bool stop_at_miss = false;                  ///< end at the first task that fits nowhere, and do not measure
  strategy::Fleet* after = nullptr;           ///< out, if set: the fleet after the last arrival
  std::vector<PlacedTask>* placed = nullptr;  ///< out, if set: the placed tasks in order
};
/// Rows of the fleet are the nodes in `order`. A node may occur several times, as copies.
[[nodiscard]] Result<PackingRun> replay_packing(const sim::PackingProblem& problem, const strategy::Context& context,
                                                const std::vector<std::uint32_t>& order, const ReplayOptions& options,
                                                const strategy::Registry& strategies,
                                                const strategy::StrategySpec& spec);

/// How many more tasks fit. Repeats `task` until it fits nowhere. If null, draws tasks from the workload in proportion
/// to their frequency until `misses_max` of them found no room; after that small tasks would only fill gaps.
struct CapacityRun {
  std::uint64_t fitted = 0;  ///< in total
  std::uint64_t until_first_miss = 0;
};
[[nodiscard]] Result<CapacityRun> measure_capacity(const sim::PackingProblem& problem, strategy::Context context,
                                                   strategy::Fleet fleet, const strategy::TaskClass* task,
                                                   std::int64_t seed, const strategy::Registry& strategies,
                                                   const strategy::StrategySpec& spec, std::size_t misses_max = 100);

/// The context with draws seeded by `seed`.
[[nodiscard]] strategy::Context with_draws(strategy::Context context, std::int64_t seed);

}  // namespace berth::packing
