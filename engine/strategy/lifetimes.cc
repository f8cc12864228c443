#include "berth/lifetimes.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "base/assert.h"

namespace berth::strategy {

double lifetime_seconds(std::int64_t ns) noexcept {
  return ns == Lifetimes::kNever ? std::numeric_limits<double>::infinity() : static_cast<double>(ns) / 1e9;
}

/// Sets the prediction of a task that is in the list of its node.
void Lifetimes::set_end(Slot slot, std::int64_t start_ns, std::int64_t run_ns) {
  Task& task = tasks_[slot];
  task.run_ns = run_ns >= kNever - start_ns ? kNever : run_ns;
  task.end_ns = task.run_ns == kNever ? kNever : start_ns + run_ns;
  exits_[task.row] = std::max(exits_[task.row], task.end_ns);
  if (task.end_ns == kNever) return;
  due_.emplace_back(task.end_ns, slot);
  std::push_heap(due_.begin(), due_.end(), std::greater<>());
}

void Lifetimes::arrive(std::int64_t now_ns, std::int64_t run_ns) {
  BERTH_ASSERT(now_ns >= now_ns_ && run_ns > 0);
  now_ns_ = now_ns, run_ns_ = run_ns;
  while (!due_.empty() && due_.front().first <= now_ns_) {
    const auto [end_ns, slot] = due_.front();
    std::pop_heap(due_.begin(), due_.end(), std::greater<>());
    due_.pop_back();
    const Task& task = tasks_[slot];
    if (task.end_ns != end_ns) continue;  // it ended, or another task has its slot
    const std::int64_t start_ns = task.start_ns();
    std::int64_t longer = task.run_ns;
    while (longer < kNever - start_ns && start_ns + longer <= now_ns_)
      longer = longer > kNever / 2 ? kNever : 2 * longer;
    set_end(slot, start_ns, longer);
  }
}

Lifetimes::Slot Lifetimes::place(std::uint32_t row) {
  if (unused_.empty()) {
    unused_.push_back(static_cast<Slot>(tasks_.size()));
    tasks_.emplace_back();
  }
  const Slot slot = unused_.back();
  unused_.pop_back();
  auto& [first, last] = lists_[row];
  tasks_[slot] = {.number = ++placements_, .row = row, .before = last, .after = kNone};
  (last == kNone ? first : tasks_[last].after) = slot;
  last = slot;
  set_end(slot, now_ns_, run_ns_);
  return slot;
}

void Lifetimes::remove(Slot slot) {
  Task& task = tasks_[slot];
  auto& [first, last] = lists_[task.row];
  (task.before == kNone ? first : tasks_[task.before].after) = task.after;
  (task.after == kNone ? last : tasks_[task.after].before) = task.before;
  std::int64_t& exit = exits_[task.row];
  if (task.end_ns == exit) {
    exit = 0;
    for (Slot left = first; left != kNone; left = tasks_[left].after) exit = std::max(exit, tasks_[left].end_ns);
  }
  task.end_ns = 0;  // no entry of due_ has this end
  unused_.push_back(slot);
}

}  // namespace berth::strategy
