// Seeded interleavings of lock-free code: several bodies run as fibers of one thread, and every access to a StepAtomic
// may switch to another fiber. The same seed gives the same interleaving, so a failure can be replayed. Not covered:
// reorderings that only weaker memory orders allow; the thread sanitizer checks those.
#pragma once

#include <ucontext.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace berth::testing {

class Interleaver {
 public:
  struct Options {
    std::uint32_t stay = 2;               ///< a fiber continues with probability 1 - 1/stay at each step
    std::int32_t frozen = -1;             ///< this body stops ...
    std::uint64_t frozen_at = 0;          ///< ... at its step of this number, until all others are done
    std::uint64_t steps_max = 1'000'000;  ///< of a whole run; more means a livelock
  };

  /// Runs all bodies to their end. False when they needed more than `steps_max` steps: a livelock, or a body waits
  /// for the frozen one. Then some bodies have not ended, and the run must count as failed.
  static bool run(std::uint64_t seed, std::span<const std::function<void()>> bodies, const Options& options) {
    Interleaver me(seed, options);
    active() = &me;
    const bool done = me.run_all(bodies);
    active() = nullptr;
    return done;
  }
  /// To be called before every access of a StepAtomic.
  static void step() {
    if (Interleaver* const me = active()) me->one_step();
  }
  /// A number that grows with every call: the time stamps of a history.
  static std::uint64_t moment() {
    static std::uint64_t last = 0;
    return ++last;
  }
  /// True about once in `n` steps of a run; false outside one.
  static bool rarely(std::uint32_t n) { return active() && active()->draw() % n == 0; }

 private:
  static constexpr std::size_t kStackBytes = 256 * 1024;
  struct Fiber {
    ucontext_t context{};
    const std::function<void()>* body = nullptr;
    bool done = false;
    std::uint64_t steps = 0;
    void* fake_stack = nullptr;
  };

  Interleaver(std::uint64_t seed, const Options& options) : options_(options), random_(seed * 2 + 1) {}
  static Interleaver*& active() {
    static Interleaver* current = nullptr;
    return current;
  }
  static std::vector<std::unique_ptr<char[]>>& stacks() {  // reused from run to run
    static std::vector<std::unique_ptr<char[]>> all;
    return all;
  }
  std::uint64_t draw() {  // splitmix64
    std::uint64_t x = random_ += 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
  }

  bool run_all(std::span<const std::function<void()>> bodies) {
    fibers_ = std::vector<Fiber>(bodies.size());
    while (stacks().size() < bodies.size()) stacks().push_back(std::make_unique<char[]>(kStackBytes));
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      Fiber& f = fibers_[i];
      f.body = &bodies[i];
      getcontext(&f.context);
      f.context.uc_stack.ss_sp = stacks()[i].get();
      f.context.uc_stack.ss_size = kStackBytes;
      f.context.uc_link = nullptr;
      makecontext(&f.context, &Interleaver::entry, 0);
    }
    for (;;) {
      std::vector<std::size_t> ready;
      for (std::size_t i = 0; i < fibers_.size(); ++i)
        if (!fibers_[i].done && !is_frozen(i)) ready.push_back(i);
      if (ready.empty()) {
        if (options_.frozen < 0 || fibers_[static_cast<std::size_t>(options_.frozen)].done) return true;
        options_.frozen = -1;  // all others are done: now it may continue
        continue;
      }
      if (steps_ > options_.steps_max) return false;
      current_ = ready[draw() % ready.size()];
      enter(fibers_[current_]);
    }
  }
  bool is_frozen(std::size_t i) const {
    return static_cast<std::int32_t>(i) == options_.frozen && fibers_[i].steps >= options_.frozen_at;
  }
  void one_step() {
    Fiber& f = fibers_[current_];
    ++steps_, ++f.steps;
    if (steps_ <= options_.steps_max && !is_frozen(current_) && draw() % options_.stay != 0) return;
    leave(f);
  }
  static void entry() {
    Interleaver* const me = active();
    Fiber& f = me->fibers_[me->current_];
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(nullptr, &me->main_bottom_, &me->main_bytes_);
#endif
    (*f.body)();
    f.done = true;
    me->leave(f);
  }
  void enter(Fiber& f) {
#if defined(__SANITIZE_ADDRESS__)
    void* fake = nullptr;
    __sanitizer_start_switch_fiber(&fake, f.context.uc_stack.ss_sp, kStackBytes);
    swapcontext(&main_, &f.context);
    __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#else
    swapcontext(&main_, &f.context);
#endif
  }
  void leave(Fiber& f) {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(f.done ? nullptr : &f.fake_stack, main_bottom_, main_bytes_);
    swapcontext(&f.context, &main_);
    __sanitizer_finish_switch_fiber(f.fake_stack, &main_bottom_, &main_bytes_);
#else
    swapcontext(&f.context, &main_);
#endif
  }

  Options options_;
  std::uint64_t random_, steps_ = 0;
  std::vector<Fiber> fibers_;
  std::size_t current_ = 0;
  ucontext_t main_{};
  const void* main_bottom_ = nullptr;
  std::size_t main_bytes_ = 0;
};

/// Replaces std::atomic in code that takes its atomics as a template parameter.
template <class T>
class StepAtomic {
 public:
  StepAtomic() = default;
  StepAtomic(T value) : value_(value) {}  // NOLINT(google-explicit-constructor): as std::atomic
  StepAtomic(const StepAtomic&) = delete;
  StepAtomic& operator=(const StepAtomic&) = delete;

  T load(std::memory_order = std::memory_order_seq_cst) const {
    Interleaver::step();
    return value_;
  }
  void store(T value, std::memory_order = std::memory_order_seq_cst) {
    Interleaver::step();
    value_ = value;
  }
  T exchange(T value, std::memory_order = std::memory_order_seq_cst) {
    Interleaver::step();
    return std::exchange(value_, value);
  }
  bool compare_exchange_strong(T& expected, T value, std::memory_order = std::memory_order_seq_cst,
                               std::memory_order = std::memory_order_seq_cst) {
    Interleaver::step();
    if (value_ == expected) {
      value_ = value;
      return true;
    }
    expected = value_;
    return false;
  }
  bool compare_exchange_weak(T& expected, T value, std::memory_order = std::memory_order_seq_cst,
                             std::memory_order = std::memory_order_seq_cst) {
    if (Interleaver::rarely(20)) {  // the weak form may fail spuriously
      Interleaver::step();
      expected = value_;
      return false;
    }
    return compare_exchange_strong(expected, value);
  }
  T fetch_add(T value, std::memory_order = std::memory_order_seq_cst) {
    Interleaver::step();
    return std::exchange(value_, static_cast<T>(value_ + value));
  }
  T fetch_sub(T value, std::memory_order = std::memory_order_seq_cst) {
    Interleaver::step();
    return std::exchange(value_, static_cast<T>(value_ - value));
  }
  T fetch_or(T value, std::memory_order = std::memory_order_seq_cst) {
    Interleaver::step();
    return std::exchange(value_, static_cast<T>(value_ | value));
  }

 private:
  T value_{};
};

}  // namespace berth::testing
