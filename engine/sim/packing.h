// Measures how well a cluster is packed, from usable and used amounts.
//
//   utilisation     used / usable, over all ready nodes; at most 1 per node
//   stranded        free amounts on nodes that cannot hold the reference request: useless for a typical task
//   fragmentation   1 - (reference requests that fit node by node) / (those that would fit into the free total as one
//                   node): 0 = all free capacity is usable, 1 = none is
#pragma once

#include <cstdint>

namespace berth::sim {

/// Units: MHz, MiB, MiB, healthy instances of all groups.
struct Amounts {
  std::int64_t cpu_mhz = 0, memory_mb = 0, disk_mb = 0, devices = 0;
};

/// A ready node.
struct NodePacking {
  Amounts usable, used;
  std::uint32_t alloc_count = 0;  ///< non-terminal allocations
};

struct Packing {
  std::uint64_t nodes = 0, nodes_used = 0;
  Amounts usable, used, stranded;
  double fragmentation = 0;
  Amounts reference;  ///< the request that stranded and fragmentation refer to

  [[nodiscard]] double cpu_utilisation() const { return share(used.cpu_mhz, usable.cpu_mhz); }
  [[nodiscard]] double memory_utilisation() const { return share(used.memory_mb, usable.memory_mb); }
  [[nodiscard]] double disk_utilisation() const { return share(used.disk_mb, usable.disk_mb); }
  [[nodiscard]] double device_utilisation() const { return share(used.devices, usable.devices); }

  /// part / whole; 0 if the whole is 0.
  static double share(std::int64_t part, std::int64_t whole) {
    return whole <= 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
  }
};

/// Sums over nodes. All are integers: a node that is removed as it was added leaves no trace.
class PackingSums {
 public:
  /// `reference` is a typical request, e.g. the workload's mean; amounts of 0 are ignored.
  explicit PackingSums(const Amounts& reference) { sums_.reference = reference; }

  void add(const NodePacking& node) { count(node, 1); }
  void remove(const NodePacking& node) { count(node, -1); }
  [[nodiscard]] Packing packing() const;

 private:
  void count(const NodePacking& node, std::int64_t sign);

  Packing sums_;  // all but fragmentation
  Amounts free_;
  std::int64_t fitting_ = 0;
};

}  // namespace berth::sim
