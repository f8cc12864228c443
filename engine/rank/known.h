// A cached result of a node for a request of cpu, memory and disk, in 8 bytes: the fit component if the group fits;
// else a tag and a detail. Tags are bit patterns that no operation produces: invalid operations give only the one NaN
// with a sign and no further bits.
//
//   kFails | class       it fails a check; its computed class
//   kExhausted | reason  the dimension that is short
//   kUnknown             not computed yet
#pragma once

#include <cstdint>

namespace berth::rank {

struct Known {
  static constexpr std::uint64_t kTags = 0xfffa'0000'0000'0000;  ///< all values from here on are tags
  static constexpr std::uint64_t kFails = kTags, kExhausted = 0xfffb'0000'0000'0000, kUnknown = ~0ULL;
  [[nodiscard]] static bool is_component(std::uint64_t known) { return known < kTags; }
  [[nodiscard]] static bool fails(std::uint64_t known) { return known >> 48 == kFails >> 48; }
  [[nodiscard]] static std::uint32_t detail(std::uint64_t known) { return static_cast<std::uint32_t>(known); }
};

}  // namespace berth::rank
