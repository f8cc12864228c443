// BERTH_ASSERT states an invariant of berth itself, in every build. BERTH_DEBUG_ASSERT: only in builds without NDEBUG.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace berth::base {
[[noreturn]] inline void assertion_failed(const char* what, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: berth is wrong: %s does not hold\n", file, line, what);
  std::abort();
}
}  // namespace berth::base

/// Holds in every build: a state that contradicts itself ends the program, before it decides something wrong.
#define BERTH_ASSERT(condition)                              \
  (__builtin_expect(!!(condition), 1) ? static_cast<void>(0) \
                                      : ::berth::base::assertion_failed(#condition, __FILE_NAME__, __LINE__))

/// For places that run per candidate, row or draw, where all assertions together would cost more than 1 % of the
/// instructions, and for checks that repeat work: only in builds without NDEBUG, such as those of the sanitizers.
#ifdef NDEBUG
#define BERTH_DEBUG_ASSERT(condition) static_cast<void>(sizeof(!(condition)))
#else
#define BERTH_DEBUG_ASSERT(condition) BERTH_ASSERT(condition)
#endif
