// A packing problem replayed with one strategy on a virtual clock: tasks arrive, are placed at once or dropped, and
// leave when their run time is over. Same problem, order, strategy and seed: same placements, on any machine and
// thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/histogram.h"
#include "sim/packing_problem.h"

namespace berth::sim {

/// How well a fleet is packed. Percentages of the capacity; a dimension without capacity is 0.
struct PackingQuality {
  std::array<double, strategy::kDimensions> used_percent{};
  std::array<double, strategy::kDimensions> stranded_percent{};  ///< free on nodes that cannot hold the mean ask
  double fragmentation_percent = 0;  ///< 1 - mean asks that fit node by node / in one node of the free total
  double gpu_fragment_percent = 0;   ///< F of R-STRAT-216 in % of all GPUs
  double nodes_used_percent = 0;
  double balance = 0;  ///< standard deviation over nodes of the greatest used share, in points
};
[[nodiscard]] PackingQuality measure_quality(const strategy::Fleet& fleet, const strategy::Context& context);

/// Looks at a run, evenly spaced over the arrivals, the last one included; fewer where fewer arrive.
inline constexpr std::size_t kMoments = 20;
/// One: when so much of the arrivals had been dealt with.
struct PackingMoment {
  double arrived_percent = 0;
  double placed_percent = 0;  ///< of the tasks that arrived
  PackingQuality quality;
};

struct PackingRun {
  std::uint64_t asked = 0, placed = 0;
  double priority_placed_percent = 0;  ///< placed share, each task weighted by its priority
  PackingQuality quality;              ///< after the last arrival; with departures the mean of 20 moments
  std::string digest;                  ///< of all placements, 16 hex digits
  double decide_s = 0;
  Histogram latency;                   ///< ns per decision
  std::vector<PackingMoment> moments;  ///< at most kMoments
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
  std::int64_t seed = 1;             ///< of strategies that draw
  bool departures = false;           ///< tasks end after their run time
  bool with_load = true;             ///< place the problem's load first
  bool moments = false;              ///< look at the fleet on the way, too (with departures it is looked at anyway)
  bool stop_at_miss = false;         ///< end at the first task that fits nowhere, unmeasured: does all of it fit?
  strategy::Fleet* after = nullptr;  ///< where to put the fleet after the last arrival
  std::vector<PlacedTask>* placed = nullptr;  ///< where to put what was placed, in this order
};
/// Rows of the fleet are the nodes in `order`, of which one may be named several times (copies of a node).
[[nodiscard]] Result<PackingRun> replay_packing(const PackingProblem& problem, const strategy::Context& context,
                                                const std::vector<std::uint32_t>& order, const ReplayOptions& options,
                                                const strategy::Registry& strategies,
                                                const strategy::StrategySpec& spec);

/// How many more tasks fit: `task` repeated until it fits nowhere, or (nullptr) tasks drawn from the workload in
/// proportion to their frequency, until `misses_max` of them found no room (then small ones go on filling gaps, which
/// says nothing any more).
struct CapacityRun {
  std::uint64_t fitted = 0;  ///< in all
  std::uint64_t until_first_miss = 0;
};
[[nodiscard]] Result<CapacityRun> measure_capacity(const PackingProblem& problem, strategy::Context context,
                                                   strategy::Fleet fleet, const strategy::TaskClass* task,
                                                   std::int64_t seed, const strategy::Registry& strategies,
                                                   const strategy::StrategySpec& spec, std::size_t misses_max = 100);

/// The context with draws seeded by `seed`.
[[nodiscard]] strategy::Context with_draws(strategy::Context context, std::int64_t seed);

}  // namespace berth::sim
