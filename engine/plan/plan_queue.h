// The plan queue: submitted plans wait here for the one applier, best priority first (R-CTRL-501 to 506).
//
// A submission belongs to the worker that made it and is in its memory; the queue holds a pointer until the applier
// takes it, and the worker waits for the answer. So a submission costs no heap allocation once the queue's array has
// grown to the number of workers.
// Threads: every function from any thread, under one mutex; a submission's own fields belong to the worker before
// enqueue() and after wait(), to the applier between dequeue() and answer().
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace berth::plan {

inline constexpr const char* kQueueDisabled = "plan queue is disabled";  // R-CTRL-505
inline constexpr const char* kQueueFlushed = "plan queue flushed";

/// One submitted plan on its way through the queue; derive from it to pass the plan and its result.
struct Submission {
  std::int64_t priority = 0;     ///< of the evaluation (R-CTRL-232)
  std::int64_t enqueued_ns = 0;  ///< any monotonic clock; earlier goes first among equal priorities
  std::string error;             ///< not empty: nothing was committed

  /// Returns the submission to its worker.
  void answer();
  /// Blocks until answer(); pairs with its release store, so the worker sees what the applier wrote.
  void wait();
  /// Resets it for another submission.
  void reset();

 private:
  friend class PlanQueue;
  std::uint64_t sequence_ = 0;
  std::atomic<std::uint32_t> answered_{0};
};

class PlanQueue {
 public:
  void enable();
  /// Answers every waiting plan with `plan queue flushed`, in submission order.
  void disable();
  /// False if the queue is disabled; the plan's error is then `plan queue is disabled`.
  [[nodiscard]] bool enqueue(Submission& plan);
  struct Dequeued {
    Submission* plan = nullptr;  ///< null: no plan waits, or the queue is disabled
    bool enabled = false;
  };
  /// Does not wait.
  [[nodiscard]] Dequeued dequeue();
  [[nodiscard]] std::size_t depth() const;

 private:
  static bool before(const Submission* a, const Submission* b);

  mutable std::mutex mutex_;
  bool enabled_ = false;
  std::uint64_t sequence_ = 0;
  std::vector<Submission*> heap_;
};

}  // namespace berth::plan
