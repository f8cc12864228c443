// HeartbeatTimers: an instant for each of many rows that is moved on again and again before it comes, and which is
// first.
//
// Layout: a ring of lists of rows, one per eighth of a second, and 24 bytes per row. A row that is set to a later
// instant stays in its list until that list is the first one; only what is left there is compared. So moving an instant
// on costs a store, and once before it comes a move to another list. No allocation once there is memory for all rows.
// Equal instants: the lower row first, as Timers. Threads: one.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "lifecycle/timers.h"

namespace berth::lifecycle {

class HeartbeatTimers {
 public:
  /// Sets the row's timer, whether it had one or not; `at` is not before `now`, which never goes back.
  void set(std::uint32_t row, std::int64_t at, std::int64_t now);
  void clear(std::uint32_t row);
  void clear_all();
  [[nodiscard]] bool has(std::uint32_t row) const { return row < rows_.size() && rows_[row].list != kNoList; }
  [[nodiscard]] std::size_t size() const { return size_; }
  /// The earliest instant; kNever without timers.
  [[nodiscard]] std::int64_t next() const {
    if (size_ == 0) return kNever;
    if (first_ == kNone) find_first();
    return rows_[first_].at;
  }
  /// Removes and returns the first row whose instant is not after `now`.
  [[nodiscard]] std::optional<std::uint32_t> take_due(std::int64_t now);

 private:
  static constexpr std::uint32_t kNone = ~0u;
  static constexpr std::int64_t kNoList = -1;
  static constexpr std::int64_t kLists = 4096;  // the last one also holds what comes later
  static constexpr unsigned kShift = 27;        // an eighth of a second
  struct Row {
    std::int64_t at = 0;
    std::int64_t list = kNoList;  // at most that of `at`, unless that is before the first one
    std::uint32_t next = kNone, prev = kNone;
  };
  [[nodiscard]] static std::int64_t list_of(std::int64_t at) { return at >> kShift; }
  [[nodiscard]] static std::size_t place(std::int64_t list) { return static_cast<std::size_t>(list & (kLists - 1)); }
  [[nodiscard]] std::int64_t first_list() const;
  void link(std::uint32_t row) const;
  void unlink(std::uint32_t row) const;
  void find_first() const;

  // What next() puts in order is no change for whoever looks on.
  mutable std::vector<Row> rows_;
  mutable std::array<std::uint32_t, kLists> heads_{};          // row + 1; 0: empty
  mutable std::array<std::uint64_t, kLists / 64> occupied_{};  // a bit per list
  mutable std::uint32_t first_ = kNone;                        // the earliest row, if it is known
  std::int64_t floor_ = 0;                                     // no list before it
  std::size_t size_ = 0;
};

}  // namespace berth::lifecycle
