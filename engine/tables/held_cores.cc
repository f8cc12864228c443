#include "tables/held_cores.h"

#include "base/assert.h"
#include "model/registration/node_canonical.h"

namespace berth::tables {

void HeldCores::add(std::span<const std::uint16_t> cores) {
  for (const std::uint16_t core : cores) {
    unlisted = unlisted || core / 64 >= word.size() || holds(core);
    if (unlisted) return;
    word[core / 64] |= std::uint64_t{1} << core % 64;
  }
}

void HeldCores::remove(std::span<const std::uint16_t> cores) {
  if (unlisted) return;
  for (const std::uint16_t core : cores) {
    BERTH_ASSERT(holds(core));
    word[core / 64] &= ~(std::uint64_t{1} << core % 64);
  }
}

CoreTable CoreTable::of(const model::Topology* topology, std::span<const std::uint16_t> usable_cores) {
  constexpr std::uint64_t kSpeedMost = 1'000'000;  // MHz; the sum over all cores stays below 2^31
  CoreTable out;
  if (topology && !topology->cores.empty()) {  // ascending by id, as the import requires (R-MODEL-442)
    if (topology->cores.back().id / 64 >= out.enabled.size()) return {};
    out.mhz.resize(topology->cores.back().id + std::size_t{1}, 0);
    for (const model::Core& core : topology->cores) {
      const std::uint64_t speed = model::core_speed_mhz(core);
      if (core.id >= out.mhz.size() || speed > kSpeedMost) return {};
      out.mhz[core.id] = static_cast<std::uint32_t>(speed);
      if (!core.disable) out.enabled[core.id / 64] |= std::uint64_t{1} << core.id % 64;
    }
  }
  for (const std::uint16_t core : usable_cores) out.usable[core / 64] |= std::uint64_t{1} << core % 64;
  out.has_usable = !usable_cores.empty();
  out.is_exact = true;
  return out;
}

}  // namespace berth::tables
