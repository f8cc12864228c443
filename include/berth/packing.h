// Packs a workload with one strategy: a run of `berth compare WORKLOAD --strategies S`, in this process.
//
//   auto run = berth::pack("quickstart", "smoke", 1, "best-fit");
//   if (run) std::printf("%.2f %% placed\n", run->placed_percent);
//
// To try many strategies on one workload, read it once:
//
//   auto trial = berth::PackingTrial::prepare("quickstart", "smoke", 1);
//   for (const char* formula : {"expr:-left_cpu", "expr:-left_memory"})
//     if (auto run = trial->pack(formula)) std::printf("%s: %.2f %%\n", formula, run->fragmentation_percent);
//
// A seed determines cluster, jobs and visiting order, the same for every strategy and the same as in the program: runs
// of one seed are pairs.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "berth/fleet.h"
#include "berth/result.h"
#include "berth/strategy.h"

namespace berth {

/// Percentages by dimension are of the capacity, 0 if there is none; with departures, means over the run.
struct PackingResult {
  double placed_percent = 0;           ///< of the tasks that arrived
  double priority_placed_percent = 0;  ///< each task weighted by its priority
  std::array<double, strategy::kDimensions> used_percent{};
  std::array<double, strategy::kDimensions> stranded_percent{};  ///< free on nodes that cannot hold the mean request
  double fragmentation_percent = 0;  ///< 1 - mean requests that fit node by node / in one node with all free amounts
  double gpu_fragment_percent = 0;   ///< of all GPUs (R-STRAT-216)
  double nodes_used_percent = 0;
  double balance_points = 0;  ///< standard deviation over nodes of the largest used share
  // The next three: with departures means over time, else after the last arrival.
  double empty_nodes_percent = 0;         ///< nodes without tasks
  double cpu_without_memory_percent = 0;  ///< free cpu that tasks of the workload cannot use for lack of memory
  double memory_without_cpu_percent = 0;
  /// Of strategies that compare the scores of some nodes only, per decision: best score less the chosen node's. Not a
  /// number for other strategies.
  double regret_mean = std::numeric_limits<double>::quiet_NaN(), regret_p99 = std::numeric_limits<double>::quiet_NaN();
  double not_best_percent = std::numeric_limits<double>::quiet_NaN();  ///< decisions with regret
  double decisions_per_s = 0;
  std::int64_t latency_p50_ns = 0, latency_p99_ns = 0, latency_p999_ns = 0;  ///< of a decision
  /// From the first arrival to the last. Empty if the workload does not give power, carbon intensity or prices.
  std::optional<double> power_mean_kw, energy_kwh, carbon_kg, price;
  std::string digest;  ///< of all placements
};

/// A workload with one seed, read and generated, to be packed by any number of strategies. Copies share it. Threads:
/// pack() may be called from several.
class PackingTrial {
 public:
  /// Errors: the workload cannot be read or packed (with [life], nomad-grid).
  [[nodiscard]] static Result<PackingTrial> prepare(const std::string& workload, const std::string& label,
                                                    std::int64_t seed);

  /// `strategy`: a name in strategy::registry() with its parameters, or a strategy of the workload file. Error: there
  /// is none of that name.
  [[nodiscard]] Result<PackingResult> pack(const std::string& strategy) const;
  /// A strategy of another registry.
  [[nodiscard]] Result<PackingResult> pack(const strategy::StrategySpec& strategy,
                                           const strategy::Registry& strategies) const;

 private:
  friend class PackingWorlds;
  struct Prepared;
  explicit PackingTrial(std::shared_ptr<const Prepared> prepared) : prepared_(std::move(prepared)) {}
  std::shared_ptr<const Prepared> prepared_;
};

/// Copies of a trial that the caller packs step by step, for policies that learn: in every step each world is given the
/// row for its current task. All worlds share the trial's nodes, classes and arrivals; a world is its nodes' state.
///
///   states   count x nodes records, world by world, rows in visiting order (fleet.h)
///   devices  count x nodes x device_stride int16: free thousandths, 0 beyond a node's devices
///   masks    count x nodes bytes: 1 = the row can take the world's current task, by the engine's own feasibility
///   tasks    one per world
///
/// Tasks that fit nowhere are missed at once, so that every mask has a 1 unless the world has ended. Threads: one at a
/// time. Memory: the arrays, 24 B per record for the masks, and a byte per node and class of tasks.
class PackingWorlds {
 public:
  struct Task {
    strategy::Amounts ask{};
    std::int32_t gpus = 0, gpu_milli = 0, priority = 0;
  };
  struct Outcome {
    std::uint64_t asked = 0, placed = 0;
    std::string
        digest;  ///< of the choices so far; after the last step the one that PackingResult has for these choices
  };

  /// All worlds at their first task. `count` is 1 to count_max(trial).
  PackingWorlds(const PackingTrial& trial, std::size_t count);
  /// Rows of all worlds are numbered by 32 bits.
  [[nodiscard]] static std::size_t count_max(const PackingTrial& trial);
  PackingWorlds(PackingWorlds&&) noexcept;
  PackingWorlds& operator=(PackingWorlds&&) noexcept;
  ~PackingWorlds();

  [[nodiscard]] std::size_t count() const;
  [[nodiscard]] std::size_t nodes() const;
  [[nodiscard]] std::size_t device_stride() const;
  /// The arrays keep their place as long as this object.
  [[nodiscard]] std::span<const strategy::NodeState> states() const;
  [[nodiscard]] std::span<const std::int16_t> devices() const;
  [[nodiscard]] std::span<const std::uint8_t> masks() const;
  [[nodiscard]] std::span<const Task> tasks() const;
  [[nodiscard]] bool ended(std::size_t world) const;
  [[nodiscard]] Outcome outcome(std::size_t world) const;

  /// Places the current task of each world on rows[world], on the GPU that is fullest; a row outside the mask misses
  /// it. missed[world]: tasks missed by this step, and before the next task that fits. Worlds that have ended stay so.
  void step(std::span<const std::int64_t> rows, std::span<std::int32_t> missed);
  /// Begins a world again.
  void restart(std::size_t world);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// One strategy on one trial.
[[nodiscard]] Result<PackingResult> pack(const std::string& workload, const std::string& label, std::int64_t seed,
                                         const std::string& strategy);

}  // namespace berth
