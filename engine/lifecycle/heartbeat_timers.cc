#include "lifecycle/heartbeat_timers.h"

#include <functional>

namespace berth::lifecycle {

void HeartbeatTimers::clear_all() {
  std::fill(at_.begin(), at_.end(), kNever);
  due_.clear();
  bound_ = kNever;
  size_ = 0;
}

void HeartbeatTimers::look(std::int64_t now) {
  due_.clear();
  bound_ = kNever;
  for (std::uint32_t row = 0; row < at_.size(); ++row)
    if (at_[row] > now)
      bound_ = std::min(bound_, at_[row]);
    else
      due_.emplace_back(at_[row], row);
  std::sort(due_.begin(), due_.end(), std::greater<>());
}

std::optional<std::uint32_t> HeartbeatTimers::take_due(std::int64_t now) {
  if (size_ == 0) return std::nullopt;
  const auto drop_moved = [&] {  // postponed or cleared since the scan
    while (!due_.empty() && at_[due_.back().second] != due_.back().first) due_.pop_back();
  };
  drop_moved();
  if (bound_ <= now && (due_.empty() || bound_ <= due_.back().first)) look(now);
  if (due_.empty() || due_.back().first > now) return std::nullopt;
  const std::uint32_t row = due_.back().second;
  due_.pop_back();
  clear(row);
  drop_moved();
  return row;
}

}  // namespace berth::lifecycle
