#include "plan/rejection_tracker.h"

#include <algorithm>

#include "base/assert.h"

namespace berth::plan {

bool RejectionTracker::add(base::Uuid node, std::int64_t now_ns) {
  std::deque<std::int64_t>& times = rejections_[node];
  times.push_back(now_ns);
  while (!times.empty() && times.front() < now_ns - limits_.window_ns) times.pop_front();  // its start is inside
  BERTH_ASSERT(!times.empty() || limits_.window_ns < 0);  // this rejection is in its own window
  return static_cast<std::int64_t>(times.size()) >= limits_.threshold && take_token(now_ns);
}

bool RejectionTracker::take_token(std::int64_t now_ns) {
  BERTH_ASSERT(limits_.refill_ns > 0);
  const auto burst = static_cast<double>(limits_.burst);
  if (!started_) {
    started_ = true;
    tokens_ = burst;
  } else {
    const double passed = static_cast<double>(now_ns - filled_ns_) / static_cast<double>(limits_.refill_ns);
    tokens_ = std::min(burst, tokens_ + passed * static_cast<double>(limits_.refill));
  }
  filled_ns_ = now_ns;
  BERTH_ASSERT(tokens_ <= burst);
  if (tokens_ < 1) return false;
  tokens_ -= 1;
  return true;
}

}  // namespace berth::plan
