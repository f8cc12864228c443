// Instrumented code is many times slower, so loops over seeds run a fraction of their rounds there.
#pragma once

#include <cstdint>

namespace berth::testing {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

/// `all` rounds, or `all / share` under a sanitizer.
constexpr std::uint64_t rounds(std::uint64_t all, std::uint64_t share = 10) { return kSanitized ? all / share : all; }

}  // namespace berth::testing
