// Empty nodes and stranded amounts of a fleet, as exact means over time.
//
//   table    (c + 1) x (m + 1) doubles, c and m at most kSizesMax: share of the workload's tasks by cpu and memory
//   nodes    n x 24 bytes: the present contribution of each node to the sums
//
// Free cpu is stranded as far as tasks cannot use it because memory is missing: free cpu of a node, times the share of
// the workload's tasks that fit there by cpu but not by memory. For stranded memory, cpu is missing. It is the measure
// of fragmentation of Weng et al. (USENIX ATC 2023: the expected amount that a task drawn from the workload cannot use)
// for the case that another resource is missing. Requests of more than kSizesMax distinct sizes are rounded up to one
// of these.
//
// Cost per event: O(log sizes) for each node that it changed. Threads: one.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/packing_problem.h"

namespace berth::packing {

/// In percent: of the nodes; of the fleet's cpu; of its memory.
struct FleetMeans {
  double empty_nodes = 0, cpu_without_memory = 0, memory_without_cpu = 0;
};

class FleetOverTime {
 public:
  static constexpr std::size_t kSizesMax = 512;

  FleetOverTime(const strategy::Fleet& fleet, const sim::PackingProblem& problem);
  /// The fleet stayed as it is from the last call until `now_ns`. Call it before the changes of that time.
  void advance(const strategy::Fleet& fleet, std::int64_t now_ns);
  /// Means from the first to the last call of advance; if no time passed, as the fleet is now.
  [[nodiscard]] FleetMeans means(const strategy::Fleet& fleet);

  /// Of all tasks, the share with at most `cpu` and more than `memory`; and with more than `cpu` and at most `memory`.
  struct Missing {
    double memory = 0, cpu = 0;
  };
  [[nodiscard]] Missing missing(std::int32_t cpu, std::int32_t memory) const;

 private:
  struct Sums {
    double empty = 0, cpu = 0, memory = 0;  ///< nodes, MHz, MiB
    Sums& add(const Sums& other, double weight);
  };
  void follow(const strategy::Fleet& fleet);
  void update(const strategy::Fleet& fleet, strategy::Row row);
  [[nodiscard]] double at_most(std::size_t cpu, std::size_t memory) const {
    return table_[cpu * (memories_.size() + 1) + memory];
  }

  std::vector<std::int32_t> cpus_, memories_;  ///< distinct requests, ascending
  std::vector<double> table_;  ///< [i][j]: share of the tasks of the first i cpus and the first j memories
  std::vector<Sums> nodes_;
  Sums now_, past_;  ///< past_: integral over time, s
  std::size_t seen_ = 0;
  std::int64_t since_ns_ = -1;  ///< the time of now_; -1: not begun
  double duration_s_ = 0;
};

}  // namespace berth::packing
