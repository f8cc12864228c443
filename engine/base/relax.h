// What a thread does between two looks at something that another thread changes within microseconds.
#pragma once

namespace berth::base {

/// Tells the core that this is a loop that waits: it leaves room to the other thread of the core and saves power.
inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// How often to look before sleeping: about 5 us on current cores, less than a sleep and a wake-up cost.
inline constexpr int kSpins = 100;

/// Looks for about 5 us whether `done()`; false: it is not yet.
template <class Done>
[[nodiscard]] bool spin_until(Done done) {
  for (int i = 0; i < kSpins; ++i) {
    if (done()) return true;
    relax();
  }
  return false;
}

}  // namespace berth::base
