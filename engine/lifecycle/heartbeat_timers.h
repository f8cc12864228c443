// HeartbeatTimers: one instant for each of many rows, which is usually postponed before it comes.
//
// Layout: an array of instants by row (kNever = no timer), and a lower bound of all of them. Postponing a timer is one
// store. When the bound is reached, all rows are scanned, eight bytes each, and the earliest instant becomes the new
// bound. Because heartbeats come long before their timers, that happens about once per half TTL. No allocation once
// there is memory for all rows. Equal instants: the lower row first, as in Timers. Threads: one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "lifecycle/timers.h"

namespace berth::lifecycle {

class HeartbeatTimers {
 public:
  /// Sets or replaces the row's timer; at kNever it exists but is never due.
  void set(std::uint32_t row, std::int64_t at) {
    if (row >= at_.size()) at_.resize(row + std::size_t{1}, kNever);
    size_ += at_[row] == kNever;
    at_[row] = std::min(at, kNever - 1);
    bound_ = std::min(bound_, at_[row]);
  }
  void clear(std::uint32_t row) {
    if (has(row)) at_[row] = kNever, --size_;
  }
  void clear_all();
  [[nodiscard]] bool has(std::uint32_t row) const { return row < at_.size() && at_[row] != kNever; }
  [[nodiscard]] std::size_t size() const { return size_; }
  /// Lower bound of the next timer; kNever without timers. If timers were postponed or cleared, the earliest one may be
  /// later: take_due() then returns nullopt and raises the bound.
  [[nodiscard]] std::int64_t next() const {
    if (size_ == 0) return kNever;
    return due_.empty() ? bound_ : std::min(bound_, due_.back().first);
  }
  /// Removes and returns the first row whose instant is not after `now`, which must not decrease.
  [[nodiscard]] std::optional<std::uint32_t> take_due(std::int64_t now);

 private:
  void look(std::int64_t now);

  std::vector<std::int64_t> at_;                             // by row
  std::vector<std::pair<std::int64_t, std::uint32_t>> due_;  // found by the last scan, not taken yet; descending
  std::int64_t bound_ = kNever;                              // lower bound of all instants that are not in due_
  std::size_t size_ = 0;
};

}  // namespace berth::lifecycle
