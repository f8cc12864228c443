// Amounts that evicting a node's allocations would free, by priority.
//
// Updated with the node's use. One or two cache lines answer, without iterating over the allocations, whether any
// eviction could make room, up to which priority, and the least number of victims.
//
//   largest      12 B   per resource, the largest amount of any allocation; an upper bound after removals
//   level 0..5   16 B   the lowest priorities on the node that hold anything, ascending; exact
//   level 6      16 B   the next one and all above; after removals its priority may be lower than all of theirs
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "base/wrap.h"

namespace berth::tables {

/// Above every job's priority (range: R-MODEL-231); its negative is below all.
inline constexpr std::int32_t kNoPriority = std::numeric_limits<std::int32_t>::max();

/// MHz and MiB.
struct Amounts {
  std::int64_t cpu_mhz = 0, memory_mb = 0, disk_mb = 0;

  friend bool operator==(const Amounts&, const Amounts&) = default;
  /// This minus other, wrapping as the rules' sums do.
  [[nodiscard]] Amounts without(const Amounts& other) const {
    return {base::wrap_sub(cpu_mhz, other.cpu_mhz), base::wrap_sub(memory_mb, other.memory_mb),
            base::wrap_sub(disk_mb, other.disk_mb)};
  }
  /// For free minus requested amounts: true if nothing is missing.
  [[nodiscard]] bool covered() const { return (cpu_mhz | memory_mb | disk_mb) >= 0; }
};

/// Two cache lines.
struct alignas(64) EvictionLevels {
  static constexpr std::size_t kLevels = 7;
  struct Level {
    std::int32_t priority = kNoPriority;  ///< kNoPriority: this level and all after it are unused
    std::int32_t cpu_mhz = 0, memory_mb = 0, disk_mb = 0;

    friend bool operator==(const Level&, const Level&) = default;
    [[nodiscard]] bool holds_nothing() const { return (cpu_mhz | memory_mb | disk_mb) == 0; }
  };
  std::int32_t largest_cpu_mhz = 0, largest_memory_mb = 0, largest_disk_mb = 0;
  std::uint32_t unsure = 0;  ///< 1: some amount is negative or exceeds int32; the levels are unusable
  std::array<Level, kLevels> levels;

  friend bool operator==(const EvictionLevels&, const EvictionLevels&) = default;
  [[nodiscard]] bool full() const { return levels.back().priority != kNoPriority; }

  /// Adds an allocation of a known job.
  void add(std::int32_t priority, const Amounts& held);

  /// Removes one. False: rebuild the levels from the remaining allocations.
  [[nodiscard]] bool remove(std::int32_t priority, const Amounts& held);
};
static_assert(sizeof(EvictionLevels) == 128);

enum class Room : std::uint8_t {
  none,    ///< not enough even if all are evicted
  unsure,  ///< unknown from the levels
  sure,    ///< enough if all permitted victims are evicted
};

/// Bound for every set of victims that makes room: one has this priority or a higher one, and there are at least
/// `victims`.
struct EvictionBound {
  Room room = Room::unsure;
  std::int32_t priority = kNoPriority;
  std::int64_t victims = 1;
};

/// Least number of victims if each has the largest size; `room` is free minus requested, negative if missing. 0: a
/// missing resource is not held at all.
[[nodiscard]] std::int64_t least_victims(const EvictionLevels& levels, const Amounts& room);

/// Bound for evicting allocations of priority up to `highest` in favour of `ask`, on a node that has `free` (negative:
/// overcommitted). At least one must be evicted, needed or not (R-PREEMPT-406). `least`, `most`: bounds of the
/// priorities on the node, from NodeUse.
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
    // The last level may include priorities above `highest`.
    const bool all_may_go = i + 1 < EvictionLevels::kLevels || most <= highest;
    return {all_may_go ? Room::sure : Room::unsure, level.priority, victims};
  }
  return {Room::none};
}

}  // namespace berth::tables
