#include "run/interrupt.h"

#include <atomic>
#include <csignal>

namespace berth::run {
namespace {

std::atomic<bool> g_interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free);

void on_signal(int) { g_interrupted.store(true, std::memory_order_relaxed); }

void install(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  // SA_RESETHAND: the second signal has its default effect. No SA_RESTART: a sleep ends early.
  action.sa_flags = handler == SIG_DFL ? 0 : static_cast<int>(SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  g_interrupted.store(false, std::memory_order_relaxed);
  install(on_signal);
}
InterruptGuard::~InterruptGuard() { install(SIG_DFL); }

bool interrupted() { return g_interrupted.load(std::memory_order_relaxed); }

}  // namespace berth::run
