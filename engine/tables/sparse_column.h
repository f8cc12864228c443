// SparseColumn<T>: a column in which nearly every row is T{}. Only chunks of 8 rows with another value exist.
//
// Layout: a CowVector of references to chunks; no chunk: all its rows are T{}. Rows without a chunk cost a byte, so the
// memory depends on the rows with an entry: if one row in fifty has one, a seventh of all chunks exists. Unused chunks
// are reused, so that entries that come and go cause no heap allocation. Copies cost one reference; a write copies what
// is shared, as in CowVector.
//   read      four dependent loads
//   set       T{} in a row that has it already costs a read; removing a chunk's last other value removes the chunk
//   threads   as in CowVector
#pragma once

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "tables/cow.h"

namespace berth::tables {

template <class T>
class SparseColumn {
  static constexpr std::size_t kRows = 8;

  struct Chunk {
    std::atomic<std::uint32_t> references{1};
    T data[kRows]{};
    Chunk() = default;
    Chunk(const Chunk& other) { std::copy(std::begin(other.data), std::end(other.data), data); }
  };

 public:
  SparseColumn() = default;
  SparseColumn(const SparseColumn& other) : chunks_(other.chunks_), chunk_count_(other.chunk_count_) {}
  SparseColumn& operator=(const SparseColumn& other) {
    chunks_ = other.chunks_, chunk_count_ = other.chunk_count_;
    return *this;
  }
  ~SparseColumn() = default;

  const T& operator[](std::size_t row) const {
    static const T kNone{};
    const std::size_t chunk = row / kRows;
    if (chunk >= chunks_.size() || !chunks_[chunk]) return kNone;
    return chunks_[chunk]->data[row % kRows];
  }
  /// Prefetches the cache line with the reference to the element's chunk.
  void prefetch(std::size_t row) const {
    if (row / kRows < chunks_.size()) chunks_.prefetch(row / kRows);
  }
  void set(std::size_t row, T value) {
    const bool is_none = value == T{};
    if (is_none && (*this)[row] == T{}) return;
    edit(row) = std::move(value);
    if (!is_none) return;
    Ref<Chunk>& chunk = chunks_.edit(row / kRows);
    if (std::all_of(std::begin(chunk->data), std::end(chunk->data), [](const T& one) { return one == T{}; })) {
      if (chunk.unique() && spare_.size() < kSpare) spare_.push_back(std::move(chunk));
      chunk = {};
      --chunk_count_;
    }
  }
  /// The element for writing. A chunk that becomes all T{} through it stays until set() writes T{} to it.
  T& edit(std::size_t row) {
    const std::size_t at = row / kRows;
    if (at >= chunks_.size()) chunks_.resize(at + 1);
    Ref<Chunk>& chunk = chunks_.edit(at);
    if (!chunk) {
      chunk = new_chunk();
      ++chunk_count_;
    } else if (!chunk.unique()) {
      chunk = Ref<Chunk>(new Chunk(*chunk));
    }
    return chunk->data[row % kRows];
  }
  [[nodiscard]] std::size_t bytes() const { return chunks_.bytes() + chunk_count_ * sizeof(Chunk); }

 private:
  static constexpr std::size_t kSpare = 1024;

  Ref<Chunk> new_chunk() {
    if (spare_.empty()) return Ref<Chunk>(new Chunk());
    Ref<Chunk> chunk = std::move(spare_.back());
    spare_.pop_back();
    return chunk;
  }

  CowVector<Ref<Chunk>, 256> chunks_;
  std::size_t chunk_count_ = 0;
  std::vector<Ref<Chunk>> spare_;  // all T{}; not shared with copies
};

}  // namespace berth::tables
