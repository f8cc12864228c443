// What a thread does between two looks at something that another thread changes within microseconds.
#pragma once

#include <mutex>

namespace berth::base {

/// Tells the core that this is a loop that waits: it leaves room to the other thread of the core and saves power.
inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Pauses before a thread sleeps: about 50 us on current cores, which is what a sleep and a wake-up cost on a virtual
/// machine. So waiting costs at most twice what the better choice would have cost.
inline constexpr int kPauses = 1000;
/// Most pauses between two looks: each look takes the cache line from the thread that will change it.
inline constexpr int kPausesAtOnce = 16;

/// Looks for about 50 us whether `done()`; false: it is not yet.
template <class Done>
[[nodiscard]] bool spin_until(Done done) {
  int at_once = 1;
  for (int pauses = 0; pauses < kPauses; pauses += at_once) {
    if (done()) return true;
    if (pauses > 0 && at_once < kPausesAtOnce) at_once *= 2;
    for (int i = 0; i < at_once; ++i) relax();
  }
  return done();
}

/// A mutex that is held for microseconds: a thread that finds it taken spins before it sleeps.
class SpinningMutex {
 public:
  void lock() {
    if (!spin_until([this] { return mutex_.try_lock(); })) mutex_.lock();
  }
  bool try_lock() { return mutex_.try_lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

}  // namespace berth::base
