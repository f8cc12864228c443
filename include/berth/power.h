// Power and price of nodes, by kind of node. Power follows from what is allocated: packages of cores and devices draw
// one of two powers, idle or in use. Source: Lettich, Carlini, Nardini, Perego, Trani, "Power- and Fragmentation-aware
// Online Scheduling for GPU Datacenters", CCGrid 2025, arXiv 2412.17484, and its code.
//
//   NodeRates   one record of 32 bytes per kind of node, because a score reads all of it; a cluster has few kinds, so
//               they stay in L1. Milliwatts and millionths, so that sums over nodes are exact
//   kind        per node its number, NodeState::kind
//
// Tasks fill one package after the other: the number of busy packages is the used cpu divided by that of a package,
// rounded up. A device draws device_max_mw if any part of it is allocated, else device_idle_mw.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "berth/fleet.h"

namespace berth::strategy {

struct NodeRates {
  std::int64_t price_micro = 0;  ///< per hour, in millionths of the currency
  std::int32_t package_cpu = 0;  ///< cpu of a package, in the unit of amounts; 0 = no power
  std::int32_t package_idle_mw = 0, package_max_mw = 0;
  std::int32_t device_idle_mw = 0, device_max_mw = 0;
  std::int32_t reserved_cpu = 0;  ///< of the packages, but no part of the node's capacity; draws idle power

  [[nodiscard]] bool operator==(const NodeRates&) const = default;
};
static_assert(sizeof(NodeRates) == 32);

/// Rates of all kinds of nodes of a cluster.
struct RateTable {
  std::vector<NodeRates> kinds;
  bool power = false, price = false;  ///< what the cluster gives
};

/// Power of `cpu` in use, of all packages of the node.
[[nodiscard]] inline std::int64_t packages_power_mw(const NodeRates& rates, std::int32_t capacity,
                                                    std::int32_t used) noexcept {
  if (rates.package_cpu <= 0) return 0;
  const auto packages = [&](std::int32_t cpu) -> std::int64_t {
    return (std::int64_t{cpu} + rates.package_cpu - 1) / rates.package_cpu;
  };
  const std::int64_t all = packages(capacity + rates.reserved_cpu), busy = packages(used);
  return all * rates.package_idle_mw + busy * (rates.package_max_mw - rates.package_idle_mw);
}

/// Power of a node. Cost: O(devices).
[[nodiscard]] inline std::int64_t node_power_mw(const RateTable& table, const Node& node) noexcept {
  const NodeRates& rates = table.kinds[node.state.kind];
  std::int64_t devices = 0;
  for (const std::int16_t free : node.devices)
    devices += free == kWholeDevice ? rates.device_idle_mw : rates.device_max_mw;
  return packages_power_mw(rates, node.capacity(kCpu), node.used(kCpu)) + devices;
}

/// By how much the node's power rises if the task is placed on `devices`. Cost: O(devices of the task).
[[nodiscard]] inline std::int64_t added_power_mw(const RateTable& table, const Node& node, const TaskClass& task,
                                                 DeviceMask devices) noexcept {
  const NodeRates& rates = table.kinds[node.state.kind];
  std::int64_t opened = 0;
  for (; devices != 0; devices &= devices - 1)
    opened += node.devices[static_cast<std::size_t>(std::countr_zero(devices))] == kWholeDevice;
  return packages_power_mw(rates, node.capacity(kCpu), node.used(kCpu) + task.ask[kCpu]) -
         packages_power_mw(rates, node.capacity(kCpu), node.used(kCpu)) +
         opened * (rates.device_max_mw - rates.device_idle_mw);
}

}  // namespace berth::strategy
