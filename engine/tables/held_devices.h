// The device instances that running allocations hold on one node, as a set. It saves a placement and the plan applier
// from iterating over the node's allocations and comparing IDs.
//
//   word     56 B   bit n % 64 of word n / 64: instance n of the node's model::DeviceTable is held
//   unlisted  1 B   some allocation did not fit into the set; it is unusable until it can hold those that stay
//
// Cases that do not fit are rare: an instance held twice, a node with more than 448 of them.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "model/device_table.h"
#include "tables/shape.h"

namespace berth::tables {

struct alignas(64) HeldDevices {
  std::array<std::uint64_t, 7> word{};
  bool unlisted = false;

  friend bool operator==(const HeldDevices&, const HeldDevices&) = default;
  /// An allocation with `shape`, which holds devices of `node`, starts or ceases to count.
  void add(const ResourceShape& shape, const model::DeviceTable& node);
  void remove(const ResourceShape& shape, const model::DeviceTable& node);
  /// Number of instances of the group that are not held.
  [[nodiscard]] std::uint32_t free_of(const model::DeviceTable::Group& group) const {
    std::uint32_t held = 0;
    for (std::uint32_t i = group.first / 64; i < word.size() && i * 64 < group.first + group.count; ++i) {
      std::uint64_t bits = word[i];
      if (i * 64 < group.first) bits &= ~std::uint64_t{0} << group.first % 64;
      if (const std::uint32_t end = group.first + group.count - i * 64; end < 64) bits &= (std::uint64_t{1} << end) - 1;
      held += static_cast<std::uint32_t>(std::popcount(bits));
    }
    return group.count - held;
  }
  /// Calls visit(number) for every held instance, ascending.
  template <class Visit>
  void each(Visit visit) const {
    for (std::size_t i = 0; i < word.size(); ++i)
      for (std::uint64_t rest = word[i]; rest != 0; rest &= rest - 1)
        visit(64 * i + static_cast<std::size_t>(std::countr_zero(rest)));
  }
};
static_assert(sizeof(HeldDevices) == 64);

}  // namespace berth::tables
