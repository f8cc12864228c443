// What is known of a node and an ask for figures from before, in 8 bytes: the fit component where the group fits; else
// a tag and a detail. Tags are bit patterns that no operation gives: an invalid one gives the one NaN with a sign and
// no more.
//
//   kFails | class       it fails a check; its computed class
//   kExhausted | reason  the dimension that is short
//   kUnknown             nobody looked
#pragma once

#include <cstdint>

namespace berth::rank {

struct Known {
  static constexpr std::uint64_t kTags = 0xfffa'0000'0000'0000;  ///< from here on
  static constexpr std::uint64_t kFails = kTags, kExhausted = 0xfffb'0000'0000'0000, kUnknown = ~0ULL;
  [[nodiscard]] static bool is_component(std::uint64_t known) { return known < kTags; }
  [[nodiscard]] static bool fails(std::uint64_t known) { return known >> 48 == kFails >> 48; }
  [[nodiscard]] static std::uint32_t detail(std::uint64_t known) { return static_cast<std::uint32_t>(known); }
};

}  // namespace berth::rank
