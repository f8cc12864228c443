#include "lifecycle/drain_deadlines.h"

#include <algorithm>

namespace berth::lifecycle {

void DrainDeadlines::watch(tables::NodeRow node, std::int64_t deadline) {
  remove(node);
  const Deadline added{deadline, node};
  deadlines_.insert(std::upper_bound(deadlines_.begin(), deadlines_.end(), added), added);
}

void DrainDeadlines::watch_forced(tables::NodeRow node) {
  remove(node);
  forced_.push_back(node);
}

void DrainDeadlines::remove(tables::NodeRow node) {
  std::erase_if(deadlines_, [&](const Deadline& deadline) { return deadline.node == node; });
  std::erase(forced_, node);
}

std::int64_t DrainDeadlines::due_together() const {
  if (!forced_.empty()) return std::numeric_limits<std::int64_t>::min();
  std::int64_t due = deadlines_.front().at;
  const std::int64_t end = due > kNever - coalesce_ns_ ? kNever : due + coalesce_ns_;
  for (const Deadline& deadline : deadlines_) {
    if (deadline.at >= end) break;
    due = deadline.at;
  }
  return due;
}

bool DrainDeadlines::take_due(std::int64_t now, std::vector<tables::NodeRow>& nodes) {
  nodes.clear();
  if (!forced_.empty()) {
    nodes.swap(forced_);
    return true;
  }
  const std::int64_t due = next_deadline();
  if (due > now || deadlines_.empty()) return false;
  std::size_t count = 0;
  while (count < deadlines_.size() && deadlines_[count].at <= due) nodes.push_back(deadlines_[count++].node);
  deadlines_.erase(deadlines_.begin(), deadlines_.begin() + static_cast<std::ptrdiff_t>(count));
  return true;
}

}  // namespace berth::lifecycle
