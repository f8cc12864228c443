// The first entries of a shuffle without the shuffle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace berth::rank {

/// Most entries that trace_back() follows at once.
inline constexpr std::size_t kMaxTraced = 32;

/// What a Fisher-Yates shuffle of 0..n-1 (R-FEAS-203) leaves in its first entries. The shuffle ends at entry 1, so
/// these are settled last; followed through the swaps backwards, each draw costs a look instead of a swap. `picks`:
/// entry n-1-k is swapped with entry picks[k], k ascending, picks.size() = n-1. `entries` receives entries
/// 0..entries.size()-1, at most kMaxTraced and at most n.
void trace_back(std::span<const std::uint32_t> picks, std::span<std::uint32_t> entries) noexcept;

}  // namespace berth::rank
