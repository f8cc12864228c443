// The reserved cores that running allocations hold on one node, as a set. It saves a placement and the plan applier
// from iterating over the node's allocations.
//
//   word     56 B   bit id % 64 of word id / 64: core `id` is held
//   unlisted  1 B   some allocation did not fit into the set; it is unusable until it can hold those that stay
//
// Cases that do not fit are rare: a core held twice, an id of 448 and above.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "model/node.h"
#include "tables/shape.h"

namespace berth::tables {

struct alignas(64) HeldCores {
  std::array<std::uint64_t, 7> word{};
  bool unlisted = false;

  friend bool operator==(const HeldCores&, const HeldCores&) = default;
  /// An allocation that holds `cores`, or `shape`, starts or ceases to count.
  void add(std::span<const std::uint16_t> cores);
  void add(const ResourceShape& shape) { add(shape.cores); }
  void remove(std::span<const std::uint16_t> cores);
  void remove(const ResourceShape& shape) { remove(shape.cores); }
  [[nodiscard]] bool holds(std::uint16_t core) const {
    return core / 64 < word.size() && (word[core / 64] >> core % 64 & 1) != 0;
  }
  /// Calls visit(id) for every held core, ascending.
  template <class Visit>
  void each(Visit visit) const {
    for (std::size_t i = 0; i < word.size(); ++i)
      for (std::uint64_t rest = word[i]; rest != 0; rest &= rest - 1)
        visit(static_cast<std::uint16_t>(64 * i + static_cast<std::size_t>(std::countr_zero(rest))));
  }
};
static_assert(sizeof(HeldCores) == 64);

/// The cores of a node in the form of HeldCores: computes the cores for a request without reading the topology.
struct CoreTable {
  using Words = std::array<std::uint64_t, 7>;
  Words enabled{}, usable{};       ///< enabled: not disabled; usable: enabled and not reserved
  std::vector<std::uint32_t> mhz;  ///< by id
  bool has_usable = false;
  bool is_exact = false;  ///< ids and speeds are small enough for this table

  [[nodiscard]] static CoreTable of(const model::Topology* topology, std::span<const std::uint16_t> usable);
  /// True if some core of the set is not usable and any core is (R-RANK-524).
  [[nodiscard]] bool exceeded_by(const Words& held) const {
    std::uint64_t beyond = 0;
    for (std::size_t i = 0; i < held.size(); ++i) beyond |= held[i] & ~usable[i];
    return has_usable && beyond != 0;
  }
  struct Gift {
    std::uint64_t mhz = 0;
    bool too_few = false;
    bool exceeds = false;  ///< as exceeded_by()
  };
  /// The first `count` cores that are enabled and not `held` (R-RANK-641, 642).
  [[nodiscard]] Gift give(const Words& held, std::uint64_t count) const {
    Gift out;
    for (std::size_t i = 0; i < held.size() && count > 0; ++i)
      for (std::uint64_t free = enabled[i] & ~held[i]; free != 0 && count > 0; free &= free - 1, --count) {
        out.mhz += mhz[64 * i + static_cast<std::size_t>(std::countr_zero(free))];
        out.exceeds |= has_usable && (usable[i] & free & -free) == 0;
      }
    out.too_few = count > 0;
    return out;
  }
};

}  // namespace berth::tables
