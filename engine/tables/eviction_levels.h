// What evicting a node's allocations would free, by their priority.
//
// Kept up to date with the node's use, so that whether any eviction could make room, and at the cost of which priority
// and of how many at the least, is answered from one or two cache lines, without a walk over the allocations.
//
//   largest      12 B   per resource, no allocation holds more; less may be the truth by now
//   level 0..5   16 B   the lowest priorities on the node that hold anything, ascending; exact
//   level 6      16 B   the next one and all above; its priority may be lower than any of theirs by now
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "base/wrap.h"

namespace berth::tables {

/// Above every job's priority (R-MODEL-231 has their range); its negative is below.
inline constexpr std::int32_t kNoPriority = std::numeric_limits<std::int32_t>::max();

/// MHz and MiB.
struct Amounts {
  std::int64_t cpu_mhz = 0, memory_mb = 0, disk_mb = 0;

  friend bool operator==(const Amounts&, const Amounts&) = default;
  /// This minus other, wrapping as the sums of the rules do.
  [[nodiscard]] Amounts without(const Amounts& other) const {
    return {base::wrap_sub(cpu_mhz, other.cpu_mhz), base::wrap_sub(memory_mb, other.memory_mb),
            base::wrap_sub(disk_mb, other.disk_mb)};
  }
  /// Of free minus asked: nothing is missing.
  [[nodiscard]] bool covered() const { return (cpu_mhz | memory_mb | disk_mb) >= 0; }
};

/// Two cache lines.
struct alignas(64) EvictionLevels {
  static constexpr std::size_t kLevels = 7;
  struct Level {
    std::int32_t priority = kNoPriority;  ///< kNoPriority: not in use, nor are those after it
    std::int32_t cpu_mhz = 0, memory_mb = 0, disk_mb = 0;

    friend bool operator==(const Level&, const Level&) = default;
    [[nodiscard]] bool holds_nothing() const { return (cpu_mhz | memory_mb | disk_mb) == 0; }
  };
  std::int32_t largest_cpu_mhz = 0, largest_memory_mb = 0, largest_disk_mb = 0;
  std::uint32_t unsure = 0;  ///< 1: something is held that is negative or beyond an int32; the levels say nothing
  std::array<Level, kLevels> levels;

  friend bool operator==(const EvictionLevels&, const EvictionLevels&) = default;
  [[nodiscard]] bool full() const { return levels.back().priority != kNoPriority; }

  /// One allocation of a known job more.
  void add(std::int32_t priority, const Amounts& held);

  /// One less. False: the levels have to be built anew from those that stay.
  [[nodiscard]] bool remove(std::int32_t priority, const Amounts& held);
};
static_assert(sizeof(EvictionLevels) == 128);

enum class Room : std::uint8_t {
  none,    ///< whoever goes, it is not enough
  unsure,  ///< not to be told from the levels
  sure,    ///< if all go that may
};

/// Of every choice of victims that makes room, one has this priority or a higher one, and there are at least so many.
struct EvictionBound {
  Room room = Room::unsure;
  std::int32_t priority = kNoPriority;
  std::int64_t victims = 1;
};

/// The least number of victims where one of the largest size does not cover what is missing: amounts free - ask, where
/// below 0 missing. 0: nobody holds any of it.
[[nodiscard]] std::int64_t least_victims(const EvictionLevels& levels, const Amounts& room);

/// What evicting allocations of a priority up to `highest` can do for `ask` on a node that has `free` (below 0: more is
/// held than there is). At least one has to go, needed or not (R-PREEMPT-406). `least`, `most`: bounds of the
/// priorities on the node, as NodeUse has them.
[[nodiscard]] inline EvictionBound bound_eviction(const EvictionLevels& levels, const Amounts& free, const Amounts& ask,
                                                  std::int64_t highest, std::int32_t least, std::int32_t most) {
  if (levels.unsure != 0) return {};
  if (least > highest) return {Room::none};
  Amounts room = free.without(ask);
  if (room.covered()) return {Room::sure, least};
  std::int64_t victims = 1;
  if (room.cpu_mhz < -std::int64_t{levels.largest_cpu_mhz} ||
      room.memory_mb < -std::int64_t{levels.largest_memory_mb} ||
      room.disk_mb < -std::int64_t{levels.largest_disk_mb}) {
    victims = least_victims(levels, room);
    if (victims == 0) return {Room::none};
  }
  for (std::size_t i = 0; i < EvictionLevels::kLevels; ++i) {
    const EvictionLevels::Level& level = levels.levels[i];
    if (level.priority > highest || level.priority == kNoPriority) break;
    room.cpu_mhz += level.cpu_mhz, room.memory_mb += level.memory_mb, room.disk_mb += level.disk_mb;
    if (!room.covered()) continue;
    // Of the last level, some may be above `highest`.
    const bool all_may_go = i + 1 < EvictionLevels::kLevels || most <= highest;
    return {all_may_go ? Room::sure : Room::unsure, level.priority, victims};
  }
  return {Room::none};
}

}  // namespace berth::tables
