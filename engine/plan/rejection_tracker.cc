#include "plan/rejection_tracker.h"

#include <algorithm>

namespace berth::plan {

bool RejectionTracker::add(base::Uuid node, std::int64_t now_ns) {
  std::deque<std::int64_t>& times = rejections_[node];
  times.push_back(now_ns);
  while (!times.empty() && times.front() < now_ns - limits_.window_ns) times.pop_front();  // its start is inside
  return static_cast<std::int64_t>(times.size()) >= limits_.threshold && take_token(now_ns);
}

bool RejectionTracker::take_token(std::int64_t now_ns) {
  const auto burst = static_cast<double>(limits_.burst);
  if (!started_) {
    started_ = true;
    tokens_ = burst;
  } else {
    const double passed = static_cast<double>(now_ns - filled_ns_) / static_cast<double>(limits_.refill_ns);
    tokens_ = std::min(burst, tokens_ + passed * static_cast<double>(limits_.refill));
  }
  filled_ns_ = now_ns;
  if (tokens_ < 1) return false;
  tokens_ -= 1;
  return true;
}

}  // namespace berth::plan
