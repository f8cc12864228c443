// HeartbeatTimers: an instant for each of many rows that is moved on again and again before it comes.
//
// Layout: an array of instants by row, kNever where there is none, and an instant before which none of them comes. So
// moving one on is a store; rows are looked through, eight bytes each, when that instant has come, and the earliest one
// there is then becomes the next. As heartbeats come long before their timers, that is once in a TTL's half or so.
// No allocation once there is memory for all rows. Equal instants: the lower row first, as Timers. Threads: one.
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
  /// Sets the row's timer, whether it had one or not; at kNever it is there and never due.
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
  /// No timer comes before; kNever without timers. The earliest one may come later, if others were moved on or cleared:
  /// take_due() finds nothing then, and knows better afterwards.
  [[nodiscard]] std::int64_t next() const {
    if (size_ == 0) return kNever;
    return due_.empty() ? bound_ : std::min(bound_, due_.back().first);
  }
  /// Removes and returns the first row whose instant is not after `now`, which never goes back.
  [[nodiscard]] std::optional<std::uint32_t> take_due(std::int64_t now);

 private:
  void look(std::int64_t now);

  std::vector<std::int64_t> at_;                             // by row
  std::vector<std::pair<std::int64_t, std::uint32_t>> due_;  // found by the last look and not taken yet, first one last
  std::int64_t bound_ = kNever;                              // of all that are not in it
  std::size_t size_ = 0;
};

}  // namespace berth::lifecycle
