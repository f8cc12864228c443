#include "run/interrupt.h"

#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <string_view>

#include "io/output.h"
#include "run/interrupt_hook.h"

namespace berth::run {
namespace {

// Written by handlers, which may run in any thread. Each is an independent flag or count, so relaxed is enough.
std::atomic<bool> g_guarded{false}, g_interrupted{false}, g_stopped{false}, g_ending{false};
std::atomic<int> g_waits_left{20};  // waits for files being written, kWriteWaitMs each
std::atomic<void (*)()> g_end_hook{nullptr};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);
constexpr int kWriteWaitMs = 50;

void set_timer(int ms) {
  itimerval timer{};
  timer.it_value.tv_sec = ms / 1000, timer.it_value.tv_usec = ms % 1000 * 1000;
  setitimer(ITIMER_REAL, &timer, nullptr);
}

/// Called by signal handlers: only async-signal-safe calls.
void end_program() {
  g_ending.store(true, std::memory_order_relaxed);
  if (io::outputs_in_progress() > 0 && g_waits_left.fetch_sub(1, std::memory_order_relaxed) > 0)
    return set_timer(kWriteWaitMs);
  if (void (*const hook)() = g_end_hook.load(std::memory_order_relaxed)) hook();
  static constexpr std::string_view kLine = "berth: interrupted before there was a result; nothing was reported\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kLine.data(), kLine.size());
  _exit(kInterrupted);
}

void on_signal(int) {
  if (!g_guarded.load(std::memory_order_relaxed) || g_interrupted.exchange(true, std::memory_order_relaxed))
    return end_program();
  set_timer(kPatienceMs);
}

void on_timer(int) {
  if (g_ending.load(std::memory_order_relaxed) || !g_stopped.load(std::memory_order_relaxed)) end_program();
}

void install(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;  // file reads are resumed; sleeps and poll() still end early
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

}  // namespace

void catch_signals() {
  install(SIGINT, on_signal);
  install(SIGTERM, on_signal);
  // SIGHUP: the terminal was closed. Under nohup the signal is ignored and stays so.
  struct sigaction before {};
  if (sigaction(SIGHUP, nullptr, &before) != 0 || before.sa_handler != SIG_IGN) install(SIGHUP, on_signal);
  install(SIGALRM, on_timer);
}

void set_end_hook(void (*hook)()) { g_end_hook.store(hook, std::memory_order_relaxed); }

InterruptGuard::InterruptGuard() {
  g_interrupted.store(false, std::memory_order_relaxed);
  g_stopped.store(false, std::memory_order_relaxed);
  g_guarded.store(true, std::memory_order_relaxed);
  catch_signals();
}

InterruptGuard::~InterruptGuard() {
  stopped();
  g_guarded.store(false, std::memory_order_relaxed);
}

void take_time_to_stop() { g_stopped.store(true, std::memory_order_relaxed); }

bool interrupted() { return g_interrupted.load(std::memory_order_relaxed); }

void stopped() {
  if (!interrupted()) return;
  g_stopped.store(true, std::memory_order_relaxed);
  if (!g_ending.load(std::memory_order_relaxed)) set_timer(0);
}

}  // namespace berth::run
