#include "lifecycle/heartbeat_timers.h"

#include <algorithm>
#include <bit>

#include "base/assert.h"

namespace berth::lifecycle {

/// The first list that is not empty; there is one.
std::int64_t HeartbeatTimers::first_list() const {
  const std::size_t from = place(floor_);
  std::size_t word = from / 64;
  std::uint64_t bits = occupied_[word] & ~std::uint64_t{0} << from % 64;
  while (bits == 0) {
    word = (word + 1) % occupied_.size();
    bits = occupied_[word];
  }
  const std::size_t at = word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
  return floor_ + static_cast<std::int64_t>((at + kLists - from) % kLists);
}

void HeartbeatTimers::link(std::uint32_t row) const {
  Row& r = rows_[row];
  r.list = std::clamp(list_of(r.at), floor_, floor_ + kLists - 1);
  const std::size_t at = place(r.list);
  r.prev = kNone, r.next = heads_[at] - 1;
  if (r.next != kNone) rows_[r.next].prev = row;
  heads_[at] = row + 1;
  occupied_[at / 64] |= std::uint64_t{1} << at % 64;
}

void HeartbeatTimers::unlink(std::uint32_t row) const {
  const Row& r = rows_[row];
  if (r.next != kNone) rows_[r.next].prev = r.prev;
  if (r.prev != kNone) {
    rows_[r.prev].next = r.next;
    return;
  }
  const std::size_t at = place(r.list);
  heads_[at] = r.next + 1;
  if (r.next == kNone) occupied_[at / 64] &= ~(std::uint64_t{1} << at % 64);
}

void HeartbeatTimers::set(std::uint32_t row, std::int64_t at, std::int64_t now) {
  BERTH_ASSERT(at >= now);
  if (row >= rows_.size()) rows_.resize(row + 1);
  if (size_ == 0)
    floor_ = list_of(now);
  else
    floor_ = std::max(floor_, std::min(list_of(now), first_list()));
  const bool is_new = !has(row);
  rows_[row].at = at;
  if (is_new) {
    ++size_;
    link(row);
  } else if (list_of(at) < rows_[row].list) {
    unlink(row);
    link(row);
  }
  if (first_ == row)
    first_ = kNone;
  else if (first_ != kNone && (at < rows_[first_].at || (at == rows_[first_].at && row < first_)))
    first_ = row;
}

void HeartbeatTimers::clear(std::uint32_t row) {
  if (!has(row)) return;
  unlink(row);
  rows_[row].list = kNoList;
  --size_;
  if (first_ == row) first_ = kNone;
}

void HeartbeatTimers::clear_all() {
  for (Row& row : rows_) row.list = kNoList;
  heads_.fill(0), occupied_.fill(0);
  first_ = kNone;
  size_ = 0;
}

void HeartbeatTimers::find_first() const {
  while (first_ == kNone) {
    const std::int64_t list = first_list();
    const bool is_last = list == floor_ + kLists - 1;
    for (std::uint32_t row = heads_[place(list)] - 1; row != kNone;) {
      const Row& r = rows_[row];
      const std::uint32_t next = r.next;
      if (list_of(r.at) > list && !is_last) {
        unlink(row);
        link(row);
      } else if (first_ == kNone || r.at < rows_[first_].at || (r.at == rows_[first_].at && row < first_)) {
        first_ = row;
      }
      row = next;
    }
  }
}

std::optional<std::uint32_t> HeartbeatTimers::take_due(std::int64_t now) {
  if (size_ == 0 || next() > now) return std::nullopt;
  const std::uint32_t row = first_;
  clear(row);
  return row;
}

}  // namespace berth::lifecycle
