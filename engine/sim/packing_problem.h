// A workload in the form that ranking strategies use: nodes with amounts and devices, classes of equal tasks, arrivals.
//
//   nodes       in the order of the generated cluster; a run permutes them into its visiting order
//   classes     one per distinct (request, devices, eligible nodes, priority); eligible bits are by node, not by row
//   load        tasks that run before the start
//   arrivals    in order of due time; `count` tasks of one class, of one job
//
// Feasibility covers node status, datacenter, pool, drivers, constraints of job, group and tasks, device groups and
// their constraints, cpu, memory, disk, devices, and distinct_hosts. It ignores, and `left_out` lists: ports, reserved
// cores, volumes, distinct_property, and the preferences (spread, affinity) that are Nomad's own score components. A
// physical GPU split into shares (gpu_sharing) is one device of 1000 thousandths here, so no share is on two devices.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "berth/strategy.h"
#include "sim/generated_cluster.h"
#include "sim/job_stream.h"
#include "sim/workload.h"

namespace berth::sim {

struct PackingArrival {
  std::int64_t due_ns = 0, run_time_ns = kNeverEnds;
  strategy::ClassId task = 0;
  std::uint32_t count = 0;
  std::uint32_t job = 0;
  bool distinct_hosts = false;  ///< no two tasks of the job on one node
  std::int32_t migrates = 0;    ///< max_parallel of the group's migrate block; 0 = it has none
};

struct PackingProblem {
  std::vector<strategy::Fleet::NodeSpec> nodes;
  std::vector<std::string> node_classes;  ///< per node: its shape, by which --minimum-nodes counts
  std::vector<strategy::TaskClass> classes;
  struct Load {
    std::uint32_t node;
    strategy::ClassId task;
  };
  std::vector<Load> load;
  std::vector<PackingArrival> arrivals;
  std::vector<std::string> models;                   ///< of device groups, indexed by NodeSpec::model; 0 = none
  std::shared_ptr<const strategy::RateTable> rates;  ///< of Fleet::NodeSpec::kind; null: no power or price is known
  std::vector<double> carbon;                        ///< g per kWh by hour of the day: 24, or none
  std::set<std::string> left_out;                    ///< requests of the workload that feasibility ignores
  std::uint32_t jobs = 0;

  [[nodiscard]] std::uint64_t asked() const {
    std::uint64_t sum = 0;
    for (const PackingArrival& a : arrivals) sum += a.count;
    return sum;
  }
  /// Mean request of all arriving tasks, the reference for packing quality.
  [[nodiscard]] std::array<double, strategy::kDimensions> demand_mean() const;
  /// What strategies may use: capacities, mean request, fragment tables of the typical workload.
  [[nodiscard]] strategy::Context context() const;
};

/// `gpu_shares`: instances per physical GPU. Fails if a node has more than 64 devices in its first group; further
/// groups of a node are ignored.
[[nodiscard]] Result<PackingProblem> packing_problem(const GeneratedCluster& cluster, const JobStream& jobs,
                                                     std::int64_t gpu_shares, const std::string& path);

/// The problem from the workload's inputs with this seed. Not for nomad-grid.
[[nodiscard]] Result<PackingProblem> packing_problem(Workload workload, std::int64_t seed);

/// A fleet whose row r is node order[r]; nodes not in `order` are absent. Adds the classes with their eligible bits by
/// row, and places the load where it fits.
[[nodiscard]] strategy::Fleet fleet_of(const PackingProblem& problem, const std::vector<std::uint32_t>& order,
                                       bool with_load = true);

/// 0..n-1 in the order of a seed (Go's generator and shuffle).
[[nodiscard]] std::vector<std::uint32_t> visiting_order(std::size_t n, std::int64_t seed);

}  // namespace berth::sim
