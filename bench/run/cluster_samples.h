// Samples of the nodes' usage during a run: a bounded number, each taken between two events.
//
// Rule: by state. A sample costs some 50 ns per node that the state's logs name since the one before; the first one a
// pass over all nodes. The run's clock excludes its time, unless workers run meanwhile. Threads: one at a time, while
// no other thread writes the tables.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sched/source/node_feed.h"
#include "sim/packing.h"
#include "tables/job_table.h"

namespace berth::run {

inline constexpr std::size_t kUseBins = 20;     ///< 0 to 5 %, ... 95 to 100 %
inline constexpr std::size_t kMapCells = 1024;  ///< maximum number of cells in the map of nodes

/// A node's usage is the larger share of cpu and memory; only ready nodes count.
struct ClusterSample {
  double seconds = 0;                     ///< busy time
  double workload_seconds = 0;            ///< the workload's own time, including idle time
  std::uint64_t placed = 0, refused = 0;  ///< placements committed, and refused by the plan applier, so far
  double cpu = 0, memory = 0, disk = 0, devices = 0, fragmentation = 0;  ///< shares
  std::uint64_t nodes_used = 0;
  std::array<std::uint32_t, kUseBins> nodes_by_use{};
};

/// Usage of the nodes at the last sample, as a heat map: one cell for a few neighbouring nodes.
struct NodeMap {
  std::size_t nodes_per_cell = 1;
  std::vector<double> use;  ///< mean usage of each cell's nodes, which are neighbours in the order of the cluster
  std::array<std::array<std::uint32_t, kUseBins>, kUseBins> by_cpu_and_memory{};  ///< [cpu][memory]: nodes
};

class ClusterSampler {
 public:
  /// `reference`: the request to which fragmentation refers. Samples are spread evenly over the events, of which there
  /// are at least `arrivals`. If there are more, every second sample is dropped and sampling becomes half as frequent.
  ClusterSampler(const tables::Snapshot& state, const sim::Amounts& reference, std::size_t arrivals);

  /// True if a sample is due after `happened` events.
  [[nodiscard]] bool due(std::size_t happened) const { return happened >= next_; }
  void look(const tables::Snapshot& state, double seconds, double workload_seconds, std::uint64_t placed,
            std::uint64_t refused, std::size_t happened);

  [[nodiscard]] const std::vector<ClusterSample>& samples() const { return samples_; }
  /// The map at the last sample.
  [[nodiscard]] NodeMap map() const;

 private:
  struct Node {
    bool counted = false;  // it was ready
    std::uint8_t bin = 0;  // of nodes_by_use_
    sim::NodePacking now;
  };
  void update(const tables::Snapshot& state, tables::NodeRow row);
  void prefetch_row(const tables::NodeTable& nodes, tables::NodeRow row) const;

  std::vector<Node> nodes_;  // by row: those of the start
  sim::PackingSums sums_;
  std::array<std::uint32_t, kUseBins> nodes_by_use_{};
  sched::NodePlace use_{sched::NodePlace::kUse}, ready_{sched::NodePlace::kReady};  // in the logs, of the last sample
  std::vector<tables::NodeRow> changed_;
  std::vector<ClusterSample> samples_;
  std::size_t next_ = 0, room_ = 0;
  double stride_ = 1;
};

}  // namespace berth::run
