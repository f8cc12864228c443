// Handles Ctrl-C, SIGTERM and SIGHUP (the terminal was closed). While a guard exists, the first signal makes a run stop
// and report its results so far. The program ends if the run does not stop within kPatienceMs (unless
// take_time_to_stop() was called), at a second signal, and at any signal without a guard: set-up and short commands
// have nothing to report. It then exits with code 4 and one line on standard error, after files being written are
// complete.
#pragma once

namespace berth::run {

inline constexpr int kPatienceMs = 700;
inline constexpr int kInterrupted = 4;  ///< exit code after a signal

/// Catches the signals from now on, in the whole program.
void catch_signals();

/// While it exists, the first signal only sets interrupted(). At most one at a time. Also calls catch_signals().
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
};

/// True if a signal came since the guard was made. A relaxed atomic load: cheap enough for every evaluation.
[[nodiscard]] bool interrupted();

/// From now on an interrupted run may take any time to stop, because what it has written so far is of use. A second
/// signal still ends the program. Until the guard ends.
void take_time_to_stop();

/// An interrupted run has stopped: from now on its report may take any time. No effect without a signal.
void stopped();

}  // namespace berth::run
