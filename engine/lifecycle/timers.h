// Timers: at most one instant for each of many rows, and the earliest of them.
//
// Layout: an array heap of (instant, row), 16 bytes each, with four children per timer, which fit one cache line; and
// per row its position in the heap, 4 bytes. Resetting a timer moves it in place: no allocation once the arrays have
// grown to the number of rows. O(log n) per call. Equal instants: the lower row first. Threads: one.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace berth::lifecycle {

inline constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

class Timers {
 public:
  /// Sets or replaces the row's timer.
  void set(std::uint32_t row, std::int64_t at);
  void clear(std::uint32_t row);
  void clear_all();
  [[nodiscard]] bool has(std::uint32_t row) const { return row < place_.size() && place_[row] != kNone; }
  /// The row's instant; kNever without one.
  [[nodiscard]] std::int64_t at(std::uint32_t row) const { return has(row) ? heap_[place_[row]].at : kNever; }
  [[nodiscard]] std::size_t size() const { return heap_.size(); }
  /// The earliest instant; kNever without timers.
  [[nodiscard]] std::int64_t next() const { return heap_.empty() ? kNever : heap_.front().at; }
  /// Removes and returns the first row whose instant is not after `now`.
  [[nodiscard]] std::optional<std::uint32_t> take_due(std::int64_t now);

 private:
  static constexpr std::uint32_t kNone = ~0u;
  static constexpr std::size_t kChildren = 4;
  struct Timer {
    std::int64_t at;
    std::uint32_t row;
    friend bool operator<(const Timer& a, const Timer& b) { return a.at != b.at ? a.at < b.at : a.row < b.row; }
  };
  void put(std::size_t place, Timer timer) {
    heap_[place] = timer;
    place_[timer.row] = static_cast<std::uint32_t>(place);
  }
  void up(std::size_t place);
  void down(std::size_t place);

  std::vector<Timer> heap_;
  std::vector<std::uint32_t> place_;  // by row
};

}  // namespace berth::lifecycle
