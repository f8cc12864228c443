// What is known of a node for a request of cpu, memory and disk, in 8 bytes: the fit component if the group fits; else
// a tag and a detail. Tags are bit patterns that no operation produces: invalid operations give only the one NaN with a
// sign and no further bits.
//
//   kFails              it is no candidate, or fails a check
//   kShort | position   it passes the checks and has no room; where its table says why
//   kPasses             it passes the checks, and is not filtered for what it holds
//   kUnknown            nothing
#pragma once

#include <cstdint>

namespace berth::rank {

struct Known {
  static constexpr std::uint64_t kFails = 0xfffa'0000'0000'0000;  ///< all values from here on are tags
  static constexpr std::uint64_t kShort = 0xfffb'0000'0000'0000, kPasses = 0xfffc'0000'0000'0000, kUnknown = ~0ULL;
  [[nodiscard]] static bool is_component(std::uint64_t known) { return known < kFails; }
  [[nodiscard]] static bool fails(std::uint64_t known) { return known == kFails; }
  [[nodiscard]] static bool is_short(std::uint64_t known) { return known >> 48 == kShort >> 48; }
  [[nodiscard]] static bool may_have_room(std::uint64_t known) { return is_component(known) || known >= kPasses; }
  [[nodiscard]] static std::uint32_t detail(std::uint64_t known) { return static_cast<std::uint32_t>(known); }
};

}  // namespace berth::rank
