// Spinning: waiting for a value that another thread changes within microseconds.
#pragma once

#include <mutex>

namespace berth::base {

/// A hint to the core, for loops that wait: the other hardware thread gets more of the core, and power is saved.
inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Pauses before a thread sleeps: about 50 us on current cores, the cost of a sleep and a wake-up on a virtual machine.
/// So waiting costs at most twice as much as the better choice.
inline constexpr int kPauses = 1000;
/// Most pauses between two checks. Each check takes the cache line from the thread that will change it.
inline constexpr int kPausesAtOnce = 16;

/// Calls `done()` for up to about 50 us; false if it never returned true.
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

/// A mutex for sections of microseconds: a thread that finds it locked spins before it sleeps.
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
