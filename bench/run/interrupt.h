// Ctrl-C and SIGTERM: the first asks a run to stop and report what it has, the second ends the program at once.
#pragma once

namespace berth::run {

/// Catches the signals while it lives; one at a time.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
};

/// Whether a signal came since the guard was made. A relaxed atomic load: cheap enough for every evaluation.
[[nodiscard]] bool interrupted();

}  // namespace berth::run
