// The reserved cores that running allocations hold on one node, as a set: what a placement and the plan applier would
// otherwise gather by following the node's allocations.
//
//   word     56 B   bit id % 64 of word id / 64: somebody holds core `id`
//   unlisted  1 B   an allocation came that the set cannot hold; it says nothing until nobody holds cores there
//
// What it cannot hold is rare: a core held twice, an id of 448 and above.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "tables/shape.h"

namespace berth::tables {

struct alignas(64) HeldCores {
  std::array<std::uint64_t, 7> word{};
  bool unlisted = false;

  /// Whoever holds `cores`, or `shape`, runs there from now on, or no longer.
  void add(std::span<const std::uint16_t> cores);
  void add(const ResourceShape& shape) { add(shape.cores); }
  void remove(std::span<const std::uint16_t> cores);
  void remove(const ResourceShape& shape) { remove(shape.cores); }
  [[nodiscard]] bool holds(std::uint16_t core) const {
    return core / 64 < word.size() && (word[core / 64] >> core % 64 & 1) != 0;
  }
  /// Calls visit(id) for every core that is held, ascending.
  template <class Visit>
  void each(Visit visit) const {
    for (std::size_t i = 0; i < word.size(); ++i)
      for (std::uint64_t rest = word[i]; rest != 0; rest &= rest - 1)
        visit(static_cast<std::uint16_t>(64 * i + static_cast<std::size_t>(std::countr_zero(rest))));
  }
};
static_assert(sizeof(HeldCores) == 64);

}  // namespace berth::tables
