// BERTH_ASSERT states an invariant of berth itself; it is checked in builds without NDEBUG.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace berth::base {
[[noreturn]] inline void assertion_failed(const char* what, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: berth is wrong: %s does not hold\n", file, line, what);
  std::abort();
}
}  // namespace berth::base

#ifdef NDEBUG
#define BERTH_ASSERT(condition) static_cast<void>(sizeof(!(condition)))
#else
#define BERTH_ASSERT(condition) \
  ((condition) ? static_cast<void>(0) : ::berth::base::assertion_failed(#condition, __FILE__, __LINE__))
#endif
