// Instrumented code runs many times slower: there, loops over seeds do a share of their rounds.
#pragma once

#include <cstdint>

namespace berth::testing {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

/// `all` rounds, or one in `share` of them under a sanitizer.
constexpr std::uint64_t rounds(std::uint64_t all, std::uint64_t share = 10) { return kSanitized ? all / share : all; }

}  // namespace berth::testing
