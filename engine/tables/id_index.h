// IdIndex: finds rows of a column of IDs. It indexes appended rows at the next look-up: commits pay nothing for it, and
// a bulk run without look-ups by ID never builds it. Reused rows are reported to it and indexed then as well: in one
// batch their cache misses overlap, between two rows of a plan they would not.
//
// Layout: linear hashing. One row number per bucket and one per row, which chains the rows of a bucket, newest first: 8
// bytes a row. The IDs stay in the column. There are as many buckets as rows; each new row splits one bucket, so the
// index grows with the table and never doubles at once.
// Threads: the writer's only.
#pragma once

#include <bit>
#include <vector>

#include "base/chunked.h"
#include "base/prefetch.h"
#include "base/rows.h"
#include "base/uuid.h"

namespace berth::tables {

template <class Row, class Ids>
class IdIndex {
 public:
  explicit IdIndex(const Ids& ids) : ids_(ids) {}

  /// Row of the ID, the newest if several have it. Costs the number of rows appended since the last call.
  [[nodiscard]] Row find(base::Uuid id) {
    catch_up();
    if (heads_.size() == 0) return Row(base::kNoRow);
    std::uint32_t row = heads_[bucket_of(id)];
    while (row != base::kNoRow && ids_[row] != id) row = next_[row];
    return Row(row);
  }
  /// Removes a row whose object is gone; its ID must still be in the column.
  void forget(std::uint32_t row) {
    catch_up();
    std::uint32_t* link = &heads_[bucket_of(ids_[row])];
    while (*link != base::kNoRow && *link != row) link = &next_[*link];
    if (*link == row) *link = next_[row];
  }
  /// Prefetches what forget() reads first; the row's ID must be in the cache.
  void ask_for(std::uint32_t row) const {
    if (row >= next_.size()) return;
    base::prefetch(&heads_[bucket_of(ids_[row])]);
    base::prefetch(&next_[row]);
  }
  /// The row has a new ID; the old one was removed by forget().
  void reused(std::uint32_t row) { again_.push_back(row); }
  [[nodiscard]] std::size_t bytes() const { return heads_.bytes() + next_.bytes(); }

 private:
  void catch_up() {
    for (const std::uint32_t row : again_) insert(row);
    again_.clear();
    for (; next_.size() < ids_.size();) {
      const auto row = static_cast<std::uint32_t>(next_.size());
      next_.emplace_back();
      add_bucket();
      insert(row);
    }
  }
  [[nodiscard]] std::uint32_t bucket_of(base::Uuid id) const {
    const auto hash = static_cast<std::uint32_t>(base::UuidHash()(id));
    const auto buckets = static_cast<std::uint32_t>(heads_.size());
    const std::uint32_t mask = std::bit_ceil(buckets) - 1, bucket = hash & mask;
    return bucket < buckets ? bucket : bucket & (mask >> 1);  // not split yet
  }
  void insert(std::uint32_t row) {
    std::uint32_t& head = heads_[bucket_of(ids_[row])];
    next_[row] = head;
    head = row;
  }
  /// The new last bucket takes its rows from the bucket that it splits. Both keep their order.
  void add_bucket() {
    heads_.push_back(base::kNoRow);
    const auto added = static_cast<std::uint32_t>(heads_.size() - 1);
    if (added == 0) return;
    std::uint32_t* stays = &heads_[added & ((std::bit_ceil(added + 1) - 1) >> 1)];
    std::uint32_t* moves = &heads_[added];
    for (std::uint32_t row = *stays; row != base::kNoRow; row = next_[row]) {
      std::uint32_t*& link = bucket_of(ids_[row]) == added ? moves : stays;
      *link = row;
      link = &next_[row];
    }
    *stays = *moves = base::kNoRow;
  }

  const Ids& ids_;
  base::Chunked<std::uint32_t> heads_;  // by bucket
  base::Chunked<std::uint32_t> next_;   // by indexed row
  std::vector<std::uint32_t> again_;    // reused rows that are not indexed yet
};

}  // namespace berth::tables
