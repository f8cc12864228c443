#include "tables/held_cores.h"

#include "base/assert.h"

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

}  // namespace berth::tables
