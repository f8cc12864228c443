#include "plan/plan_queue.h"

#include <algorithm>

#include "base/assert.h"
#include "base/heap.h"
#include "base/relax.h"

namespace berth::plan {

void Submission::answer() {
  BERTH_ASSERT(answered_.load(std::memory_order_relaxed) == 0);  // a second answer would be that of a later submission
  // Publish: pairs with the acquire load in wait(). Afterwards only the address to wake is used, because the worker may
  // already be reusing the submission.
  answered_.store(1, std::memory_order_release);
  answered_.notify_one();
}

void Submission::wait() {
  if (base::spin_until([this] { return answered_.load(std::memory_order_acquire) != 0; })) return;
  answered_.wait(0, std::memory_order_acquire);
}

void Submission::reset() {
  error.clear();
  answered_.store(0, std::memory_order_relaxed);
}

bool PlanQueue::before(const Submission* a, const Submission* b) {
  if (a->priority != b->priority) return a->priority > b->priority;
  if (a->enqueued_ns != b->enqueued_ns) return a->enqueued_ns < b->enqueued_ns;
  return a->sequence_ < b->sequence_;  // R-CTRL-502
}

void PlanQueue::enable() {
  const std::lock_guard lock(mutex_);
  enabled_ = true;
}

void PlanQueue::disable() {
  std::vector<Submission*> flushed;
  {
    const std::lock_guard lock(mutex_);
    enabled_ = false;
    flushed.swap(heap_);
  }
  std::sort(flushed.begin(), flushed.end(),
            [](const Submission* a, const Submission* b) { return a->sequence_ < b->sequence_; });
  for (Submission* plan : flushed) {
    plan->error = kQueueFlushed;
    plan->answer();
  }
}

bool PlanQueue::enqueue(Submission& plan) {
  const std::lock_guard lock(mutex_);
  if (!enabled_) {
    plan.error = kQueueDisabled;
    return false;
  }
  BERTH_ASSERT(plan.answered_.load(std::memory_order_relaxed) == 0);  // after reset(): wait() would not wait
  plan.sequence_ = ++sequence_;
  base::heap_push(heap_, &plan, before);
  return true;
}

PlanQueue::Dequeued PlanQueue::dequeue() {
  const std::lock_guard lock(mutex_);
  if (!enabled_ || heap_.empty()) return {nullptr, enabled_};
  return {base::heap_pop(heap_, before), true};
}

std::size_t PlanQueue::depth() const {
  const std::lock_guard lock(mutex_);
  return heap_.size();
}

}  // namespace berth::plan
