// RowMap<Row, T>: a map whose keys are rows of a table, that is, small numbers that are reused. Its entries are
// contiguous: iterating streams memory, and a lookup by row needs neither a hash nor a tree descent.
//
//   entries   sizeof(pair<Row, T>) per entry, in no particular order
//   places    4 B per row up to the greatest row ever inserted: the position of its entry
//
// Offers the part of std::map's interface that its users need. Erasing moves the last entry into the gap: references
// and iterators to both become invalid, all others stay valid. Inserting invalidates all. Threads: as a vector.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/assert.h"

namespace berth::base {

template <class Row, class T>
class RowMap {
 public:
  using value_type = std::pair<Row, T>;
  using iterator = typename std::vector<value_type>::iterator;
  using const_iterator = typename std::vector<value_type>::const_iterator;

  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] bool empty() const { return entries_.empty(); }
  [[nodiscard]] iterator begin() { return entries_.begin(); }
  [[nodiscard]] iterator end() { return entries_.end(); }
  [[nodiscard]] const_iterator begin() const { return entries_.begin(); }
  [[nodiscard]] const_iterator end() const { return entries_.end(); }

  [[nodiscard]] bool contains(Row row) const { return place(row) != kNone; }
  [[nodiscard]] iterator find(Row row) {
    const std::uint32_t at = place(row);
    return at == kNone ? entries_.end() : entries_.begin() + at;
  }
  [[nodiscard]] const_iterator find(Row row) const {
    const std::uint32_t at = place(row);
    return at == kNone ? entries_.end() : entries_.begin() + at;
  }
  /// The row must be present.
  [[nodiscard]] T& at(Row row) {
    BERTH_DEBUG_ASSERT(contains(row));
    return entries_[place(row)].second;
  }

  /// The row's entry; inserts a new one if there is none.
  T& operator[](Row row) {
    if (row >= places_.size()) places_.resize(std::size_t{row} + 1, kNone);
    std::uint32_t& at = places_[row];
    if (at == kNone) {
      at = static_cast<std::uint32_t>(entries_.size());
      entries_.emplace_back(row, T());
    }
    return entries_[at].second;
  }
  void insert_or_assign(Row row, T value) { (*this)[row] = std::move(value); }

  /// Returns the entry that took the place of the erased one.
  iterator erase(iterator entry) {
    const auto at = static_cast<std::uint32_t>(entry - entries_.begin());
    places_[entry->first] = kNone;
    if (at + 1 < entries_.size()) {
      *entry = std::move(entries_.back());
      places_[entry->first] = at;
    }
    entries_.pop_back();
    return entries_.begin() + at;
  }
  bool erase(Row row) {
    const iterator entry = find(row);
    if (entry == entries_.end()) return false;
    erase(entry);
    return true;
  }
  template <class Predicate>
  void erase_if(Predicate predicate) {
    for (auto entry = begin(); entry != end();) entry = predicate(*entry) ? erase(entry) : entry + 1;
  }
  void clear() {
    for (const value_type& entry : entries_) places_[entry.first] = kNone;
    entries_.clear();
  }

 private:
  static constexpr std::uint32_t kNone = ~0u;

  [[nodiscard]] std::uint32_t place(Row row) const { return row < places_.size() ? places_[row] : kNone; }

  std::vector<value_type> entries_;
  std::vector<std::uint32_t> places_;
};

}  // namespace berth::base
