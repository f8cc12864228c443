// Packs a workload with one strategy: a run of `berth compare WORKLOAD --strategies S`, in this process.
//
//   auto run = berth::pack("quickstart", "smoke", 1, "best-fit");
//   if (run) std::printf("%.2f %% placed\n", run->placed_percent);
//
// A seed determines cluster, jobs and visiting order, the same for every strategy and the same as in the program: runs
// of one seed are pairs.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "berth/fleet.h"
#include "berth/result.h"

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
  double decisions_per_s = 0;
  std::int64_t latency_p50_ns = 0, latency_p99_ns = 0, latency_p999_ns = 0;  ///< of a decision
  std::string digest;                                                        ///< of all placements
};

/// `strategy`: a name in strategy::registry() with its parameters, or a sum of the workload file. Errors: the workload
/// cannot be read or packed (with [life], nomad-grid); there is no such strategy.
[[nodiscard]] Result<PackingResult> pack(const std::string& workload, const std::string& label, std::int64_t seed,
                                         const std::string& strategy);

}  // namespace berth
