// RowLog: the rows that changed, in order. Data stored by row, such as an index over nodes, follows the table from
// state to state without visiting unchanged rows.
//
//   ring   the last size() entries, 4 B each, size() a power of two; entry i is at i modulo size()
//   end    number of entries ever appended
// One writer appends; any number of readers copy entries concurrently. read() fails for a reader that fell behind by
// size() entries. Memory order: a store to the ring releases, so a reader that sees the entry of a later round also
// sees an `end` of that round afterwards, and detects it. Wait-free on both sides; entries are freed only with the log.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/assert.h"
#include "base/rows.h"

namespace berth::tables {

template <class Row>
class BasicRowLog {
 public:
  /// Entries before `first` were appended to an earlier, smaller log.
  BasicRowLog(std::size_t size, std::uint64_t first) : ring_(size), first_(first), end_(first) {
    BERTH_ASSERT(std::has_single_bit(size));
  }

  void append(Row row) noexcept {
    const std::uint64_t end = end_.load(std::memory_order_relaxed);
    ring_[end & (ring_.size() - 1)].store(row, std::memory_order_release);  // pairs with the load in read()
    end_.store(end + 1, std::memory_order_release);
  }

  [[nodiscard]] std::size_t size() const noexcept { return ring_.size(); }
  [[nodiscard]] std::uint64_t end() const noexcept { return end_.load(std::memory_order_acquire); }

  /// Appends the entries [from, to) to `out`, oldest first; requires to <= end(). False if some are no longer, or never
  /// were, in this log: then what was appended to `out` is invalid.
  [[nodiscard]] bool read(std::uint64_t from, std::uint64_t to, std::vector<Row>& out) const {
    if (from < first_ || to < from || to - from > ring_.size()) return false;
    for (std::uint64_t i = from; i < to; ++i)
      out.push_back(ring_[i & (ring_.size() - 1)].load(std::memory_order_acquire));
    // An entry of a later round, i + size(), is written before `end` passes it: if one was read, this check fails.
    return from == to || end() < from + ring_.size();
  }

 private:
  std::vector<std::atomic<Row>> ring_;
  std::uint64_t first_;
  std::atomic<std::uint64_t> end_;
};
using RowLog = BasicRowLog<base::NodeRow>;

}  // namespace berth::tables
