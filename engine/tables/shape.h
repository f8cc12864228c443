// The resources that one allocation holds, flattened.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "model/alloc.h"

namespace berth::tables {

/// The resources that one allocation holds, flattened over the task life cycle (R-MODEL-380). Shared and immutable.
struct ResourceShape {
  std::int64_t cpu_mhz = 0, memory_mb = 0, disk_mb = 0;
  std::vector<std::uint16_t> cores;
  bool ports = false;            ///< holds networks or ports
  std::uint32_t port_count = 0;  ///< upper bound of the number of its ports
  bool devices = false;          ///< holds devices
  bool shares_ports = false;     ///< a port mapping ignores collisions: the order of allocations matters (R-MODEL-411)
  /// Its ports, if they are nothing but these numbers on one address of at most 15 characters (HeldPorts).
  std::uint8_t plain_count = 0;
  std::array<std::uint16_t, 8> plain_ports{};
  [[nodiscard]] std::span<const std::uint16_t> plain() const { return std::span(plain_ports).first(plain_count); }
  [[nodiscard]] bool special() const { return ports || devices || !cores.empty(); }
  std::shared_ptr<const model::AllocatedResources> resources;  ///< null only for allocations without any
};

/// Flattened resources of an allocation as a shape.
[[nodiscard]] std::shared_ptr<const ResourceShape> make_shape(
    const std::shared_ptr<const model::AllocatedResources>& resources);

}  // namespace berth::tables
