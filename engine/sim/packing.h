// Measures how well a cluster is packed, from columns of usable and used amounts.
//
//   utilisation     used / usable, over all ready nodes; at most 1 per node
//   stranded        free amounts on nodes that cannot hold the reference request: useless for a typical task
//   fragmentation   1 - (reference requests that fit node by node) / (those that would fit into the free total as one
//                   node): 0 = all free capacity is usable, 1 = none is
#pragma once

#include <cstdint>
#include <span>

namespace berth::sim {

/// Read-only columns of equal length, one entry per ready node. Units: MHz, MiB, MiB, instances.
struct PackingColumns {
  std::span<const std::int64_t> cpu_usable_mhz, cpu_used_mhz;
  std::span<const std::int64_t> memory_usable_mb, memory_used_mb;
  std::span<const std::int64_t> disk_usable_mb, disk_used_mb;
  std::span<const std::int64_t> devices_usable, devices_used;  ///< healthy instances of all groups
  std::span<const std::uint32_t> alloc_count;                  ///< non-terminal allocations
};

struct Amounts {
  std::int64_t cpu_mhz = 0, memory_mb = 0, disk_mb = 0, devices = 0;
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

/// One pass over the columns. `reference` is a typical request, e.g. the workload's mean; amounts of 0 are ignored.
[[nodiscard]] Packing measure_packing(const PackingColumns& columns, const Amounts& reference);

}  // namespace berth::sim
