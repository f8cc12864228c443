// The ports that running allocations hold on one node, as numbers: what a placement, the plan applier and the search
// for collisions would otherwise gather by following the node's allocations through half a dozen cold lines each.
//
//   ip      16 B   the one address they are held on, as text, padded with zeros
//   count    2 B   of `port` in use
//   unlisted 1 B   an allocation came that the list cannot hold; it says nothing until it holds those that stay
//   port   108 B   2 B each, in no order; a port held twice stands twice
//
// What it cannot hold is rare: ports on two addresses, an address of more than 15 characters, mappings that ignore
// collisions, task networks, more ports than fit. There the allocations themselves are looked at (port_holders.h).
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

  /// `shape` holds ports and runs there from now on, or no longer.
  void add(const ResourceShape& shape);
  void remove(const ResourceShape& shape);
};
static_assert(sizeof(HeldPorts) == 128);

}  // namespace berth::tables
