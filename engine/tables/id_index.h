// IdIndex: finds rows of a column of IDs. It catches up with rows that were appended when somebody asks: commits pay
// nothing for it, and a bulk run in which nobody asks by ID never builds it. Of rows that are used again it is told,
// and takes them in then as well: one after the other they wait for memory together, between two rows of a plan alone.
//
// Layout: a hash set of row numbers with 32 bits of hash beside each (12 bytes a slot); the IDs stay in the column.
// Threads: the writer's only.
#pragma once

#include <tsl/robin_set.h>

#include <vector>

#include "base/rows.h"
#include "base/uuid.h"
#include "tables/cow.h"

namespace berth::tables {

template <class Row, class Ids>
class IdIndex {
 public:
  explicit IdIndex(const Ids& ids) : ids_(ids), rows_(0, Hash{&ids}, Equal{&ids}) { rows_.max_load_factor(0.7f); }

  /// Row of the ID, the newest if several have it. Costs what was appended since the last call.
  [[nodiscard]] Row find(base::Uuid id) {
    for (const std::uint32_t row : again_) insert(row);
    again_.clear();
    for (; done_ < ids_.size(); ++done_) insert(done_);
    const auto found = rows_.find(id);
    return found == rows_.end() ? Row(base::kNoRow) : Row(*found);
  }
  /// The row's object is gone; its ID is in the column still.
  void forget(std::uint32_t row) {
    if (find(ids_[row]) == row) rows_.erase(row);
  }
  /// The row has another ID now than the one that was forgotten.
  void reused(std::uint32_t row) { again_.push_back(row); }
  [[nodiscard]] std::size_t bytes() const { return rows_.bucket_count() * 12; }

 private:
  void insert(std::uint32_t row) {
    if (const auto [at, added] = rows_.insert(row); !added) {
      rows_.erase(at);
      rows_.insert(row);
    }
  }

  struct Hash {
    const Ids* ids;
    std::size_t operator()(base::Uuid id) const { return base::UuidHash()(id); }
    std::size_t operator()(std::uint32_t row) const { return base::UuidHash()((*ids)[row]); }
  };
  struct Equal {
    using is_transparent = void;
    const Ids* ids;
    bool operator()(std::uint32_t a, std::uint32_t b) const { return (*ids)[a] == (*ids)[b]; }
    bool operator()(std::uint32_t row, base::Uuid id) const { return (*ids)[row] == id; }
    bool operator()(base::Uuid id, std::uint32_t row) const { return (*ids)[row] == id; }
  };

  const Ids& ids_;
  tsl::robin_set<std::uint32_t, Hash, Equal, std::allocator<std::uint32_t>, true> rows_;
  std::uint32_t done_ = 0;
  std::vector<std::uint32_t> again_;  // rows below it that have another ID, not taken in yet
};

}  // namespace berth::tables
