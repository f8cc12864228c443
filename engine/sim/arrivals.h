// When jobs arrive, and the clock of a run.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "sim/job_stream.h"
#include "sim/workload.h"

namespace berth::sim {

/// Sets the due time of every arrival: 0 for a backlog, i / rate for a fixed rate, sums of exponential gaps for a
/// Poisson process. Recorded times are shifted to start at 0 and divided by `speed`; run times are divided too. Keeps
/// the order of the stream, but sorts recorded arrivals by (time, number).
void set_due_times(JobStream& stream, const ArrivalSpec& spec, std::uint64_t seed);

/// Sorts arrivals by due time, then priority, then number.
void order_arrivals(JobStream& stream);

/// The clock of a run, in ns since its start. It follows the machine's monotonic clock while there is work. If there is
/// none until `due`, Clock::skip jumps there and Clock::wait lets the caller sleep. Either way an evaluation that was
/// due while berth was busy counts as waiting since its due time (no coordinated omission). Only now_ns() and
/// elapsed_ns() may be called from other threads.
class RunClock {
 public:
  explicit RunClock(Clock kind) : kind_(kind), start_(std::chrono::steady_clock::now()) {}
  RunClock(const RunClock& other) : kind_(other.kind_), start_(other.start_), skipped_ns_(other.skipped_ns()) {}
  RunClock& operator=(const RunClock& other) {
    kind_ = other.kind_, start_ = other.start_;
    skipped_ns_.store(other.skipped_ns(), std::memory_order_relaxed);
    return *this;
  }

  [[nodiscard]] std::int64_t now_ns() const { return elapsed_ns() + skipped_ns(); }
  /// Measured time since the start, without skipped time.
  [[nodiscard]] std::int64_t elapsed_ns() const {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start_).count();
  }
  [[nodiscard]] std::int64_t skipped_ns() const { return skipped_ns_.load(std::memory_order_relaxed); }
  /// Called if there is nothing to do before `due_ns`. Skips to it, or sleeps for at most `max_sleep_ns`, so that the
  /// caller can handle signals and its progress bar.
  void idle_until(std::int64_t due_ns, std::int64_t max_sleep_ns);
  /// Subtracts the last `ns` from now_ns(), because the harness spent them. No other thread may use the clock.
  void leave_out(std::int64_t ns) { skipped_ns_.fetch_sub(ns, std::memory_order_relaxed); }

 private:
  Clock kind_;
  std::chrono::steady_clock::time_point start_;
  std::atomic<std::int64_t> skipped_ns_{0};
};

}  // namespace berth::sim
