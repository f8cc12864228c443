// Ctrl-C, SIGTERM and SIGHUP (the terminal was closed). Where a guard lives, the first signal asks a run to stop and
// report what it has; a run that does not stop within kPatienceMs is ended, and so is everything that has no guard: in
// set-up and in short commands there is nothing to report. A second signal ends the program as well. Ended means: exit
// code 4, one line on standard error, and files that are being written are written first.
#pragma once

namespace berth::run {

inline constexpr int kPatienceMs = 700;
inline constexpr int kInterrupted = 4;  ///< exit code of whatever a signal ended or cut short

/// Catches the signals from now on, for the whole program.
void catch_signals();

/// While it lives, a signal is first a question; one at a time. Catches the signals where catch_signals() did not.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
};

/// Whether a signal came since the guard was made. A relaxed atomic load: cheap enough for every evaluation.
[[nodiscard]] bool interrupted();

/// A run that was interrupted has stopped: it now takes the time that its report takes. Nothing where no signal came.
void stopped();

}  // namespace berth::run
