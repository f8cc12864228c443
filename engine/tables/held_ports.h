// The ports that running allocations hold on one node, as numbers. They save a placement, the plan applier and the
// search for collisions from iterating over the node's allocations through half a dozen cold lines each.
//
//   ip      16 B   the only address they are held on, as text, padded with zeros
//   count    2 B   entries of `port` in use
//   unlisted 1 B   some allocation did not fit into the list; it is unusable until it can hold those that stay
//   port   108 B   2 B each, unordered; a port held twice is listed twice
//
// Cases that do not fit are rare: ports on two addresses, an address of more than 15 characters, mappings that ignore
// collisions, task networks, too many ports. Then the allocations themselves are read (port_holders.h).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/assert.h"
#include "tables/shape.h"

namespace berth::tables {

struct alignas(64) HeldPorts {
  std::array<char, 16> ip{};
  std::uint16_t count = 0;
  bool unlisted = false;
  std::array<std::uint16_t, 54> port{};

  friend bool operator==(const HeldPorts&, const HeldPorts&) = default;
  [[nodiscard]] std::string_view address() const { return {ip.data()}; }
  [[nodiscard]] std::span<const std::uint16_t> ports() const { return std::span(port).first(count); }
  [[nodiscard]] bool holds(std::int64_t value) const { return std::ranges::find(ports(), value) != ports().end(); }

  /// An allocation with `shape`, which holds ports, starts or ceases to count.
  void add(const ResourceShape& shape);
  void remove(const ResourceShape& shape);
};
static_assert(sizeof(HeldPorts) == 128);

}  // namespace berth::tables
