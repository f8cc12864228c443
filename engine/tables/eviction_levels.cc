#include "tables/eviction_levels.h"

#include <algorithm>

namespace berth::tables {
namespace {

using Level = EvictionLevels::Level;

bool fits_a_level(std::int64_t amount) { return amount >= 0 && amount <= std::numeric_limits<std::int32_t>::max(); }

/// False if a sum exceeds int32.
bool merge(Level& into, const Level& other) {
  const bool overflow = __builtin_add_overflow(into.cpu_mhz, other.cpu_mhz, &into.cpu_mhz) |
                        __builtin_add_overflow(into.memory_mb, other.memory_mb, &into.memory_mb) |
                        __builtin_add_overflow(into.disk_mb, other.disk_mb, &into.disk_mb);
  return !overflow;
}

/// Number of allocations of the largest size that are needed; 0 = no number is enough.
std::int64_t needed(std::int64_t room, std::int32_t largest) {
  if (room >= 0) return 1;
  if (largest == 0) return 0;
  return base::wrap_add(base::wrap_sub(-1, room) / largest, 1);
}

}  // namespace

void EvictionLevels::add(std::int32_t priority, const Amounts& held) {
  if (!fits_a_level(held.cpu_mhz) || !fits_a_level(held.memory_mb) || !fits_a_level(held.disk_mb)) {
    unsure = 1;
    return;
  }
  Level one{priority, static_cast<std::int32_t>(held.cpu_mhz), static_cast<std::int32_t>(held.memory_mb),
            static_cast<std::int32_t>(held.disk_mb)};
  if (one.holds_nothing()) return;
  largest_cpu_mhz = std::max(largest_cpu_mhz, one.cpu_mhz);
  largest_memory_mb = std::max(largest_memory_mb, one.memory_mb);
  largest_disk_mb = std::max(largest_disk_mb, one.disk_mb);

  std::size_t at = 0;
  while (at < kLevels && levels[at].priority < priority) ++at;
  if (at == kLevels || levels[at].priority == priority) {
    if (!merge(levels[std::min(at, kLevels - 1)], one)) unsure = 1;
    return;
  }
  const Level falls_off = levels.back();
  std::move_backward(levels.begin() + static_cast<std::ptrdiff_t>(at), levels.end() - 1, levels.end());
  levels[at] = one;
  if (falls_off.priority != kNoPriority && !merge(levels.back(), falls_off)) unsure = 1;
}

bool EvictionLevels::remove(std::int32_t priority, const Amounts& held) {
  if (unsure != 0) return false;
  if (held == Amounts{}) return true;
  std::size_t after = 0;
  while (after < kLevels && levels[after].priority <= priority) ++after;
  if (after == 0) return false;
  Level& level = levels[after - 1];
  if (level.priority != priority && after < kLevels) return false;
  level.cpu_mhz -= static_cast<std::int32_t>(held.cpu_mhz);
  level.memory_mb -= static_cast<std::int32_t>(held.memory_mb);
  level.disk_mb -= static_cast<std::int32_t>(held.disk_mb);
  if (!level.holds_nothing()) return true;
  if (full()) return false;  // the allocations merged in the last level have to be separated again
  std::move(levels.begin() + static_cast<std::ptrdiff_t>(after), levels.end(),
            levels.begin() + static_cast<std::ptrdiff_t>(after) - 1);
  levels.back() = {};
  return true;
}

std::int64_t least_victims(const EvictionLevels& levels, const Amounts& room) {
  const std::int64_t cpu = needed(room.cpu_mhz, levels.largest_cpu_mhz),
                     memory = needed(room.memory_mb, levels.largest_memory_mb),
                     disk = needed(room.disk_mb, levels.largest_disk_mb);
  return cpu == 0 || memory == 0 || disk == 0 ? 0 : std::max({cpu, memory, disk});
}

}  // namespace berth::tables
