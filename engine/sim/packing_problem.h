// A workload as ranking strategies see it: nodes with amounts and devices, classes of equal tasks, arrivals.
//
//   nodes       in the order of the generated cluster; a run permutes them into its visiting order
//   classes     one per distinct (ask, devices, eligible nodes, priority); eligible bits are by node, not by row
//   load        tasks that are there before the run
//   arrivals    in order of due time; `count` tasks of one class, of one job
//
// What feasibility covers: node status, datacenter, pool, drivers, constraints of job, group and tasks, device groups
// and their constraints, cpu, memory, disk, devices, and distinct_hosts. What it leaves out is said in `left_out`:
// ports, reserved cores, volumes, distinct_property, and the preferences (spread, affinity) that are Nomad's own score
// components. A physical GPU split into shares (gpu_sharing) is one device of 1000 thousandths again, so shares never
// straddle two.
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
  std::vector<std::string> node_classes;  ///< per node: its shape, what --minimum-nodes counts
  std::vector<strategy::TaskClass> classes;
  struct Load {
    std::uint32_t node;
    strategy::ClassId task;
  };
  std::vector<Load> load;
  std::vector<PackingArrival> arrivals;
  std::vector<std::string> models;  ///< of device groups, behind NodeSpec::model; 0 = none
  std::set<std::string> left_out;   ///< what the workload asks and feasibility does not look at
  std::uint32_t jobs = 0;

  [[nodiscard]] std::uint64_t asked() const {
    std::uint64_t sum = 0;
    for (const PackingArrival& a : arrivals) sum += a.count;
    return sum;
  }
  /// Mean ask over all arriving tasks, what packing quality refers to.
  [[nodiscard]] std::array<double, strategy::kDimensions> demand_mean() const;
  /// What strategies may know of it: capacities, mean ask, fragment tables of the typical workload.
  [[nodiscard]] strategy::Context context() const;
};

/// `gpu_shares`: instances one physical GPU was split into. Fails when a node has more than 64 devices of one group;
/// a node's device groups after the first are left out.
[[nodiscard]] Result<PackingProblem> packing_problem(const GeneratedCluster& cluster, const JobStream& jobs,
                                                     std::int64_t gpu_shares, const std::string& path);

/// The problem of one seed: inputs of the workload under that seed. For all but nomad-grid.
[[nodiscard]] Result<PackingProblem> packing_problem(Workload workload, std::int64_t seed);

/// A fleet whose row r is node order[r]; nodes that `order` does not name are not there. Classes are added, eligible
/// bits moved to rows; the load is placed where it fits.
[[nodiscard]] strategy::Fleet fleet_of(const PackingProblem& problem, const std::vector<std::uint32_t>& order,
                                       bool with_load = true);

/// 0..n-1 in the order of a seed (Go's generator and shuffle).
[[nodiscard]] std::vector<std::uint32_t> visiting_order(std::size_t n, std::int64_t seed);

}  // namespace berth::sim
