// CowVector<T>: a chunked vector whose copies are O(1) and share chunks until one side writes.
//
// Layout: root -> pages of 32 references to chunks -> chunks of kChunk elements. A chunk's reference count is stored
// next to it: a chunk of slightly more than 16 KiB would take 20 KiB from the allocator. Copying the vector copies one
// reference to the root. A write copies the root, one page and one chunk, each only if it is shared, so a commit costs
// O(rows changed), independent of the table's size; with no snapshot alive it writes in place.
//   read      three dependent loads, or chunk_at() for a contiguous span of a whole chunk
//   append    one store: rows past a copy's size() are invisible to it, so the shared tail chunk is extended in place
//             (distinct memory locations; no copy reads them). Only the vector that made the chunk does so; a copy that
//             is appended to first takes a chunk of its own.
//   threads   one thread per vector object; copies may live on any number of threads. Reference counts are atomic: the
//             last release of another holder (acq_rel) pairs with the acquire load in unique(), so a thread that writes
//             in place sees all reads done.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/prefetch.h"
#include "base/ref.h"

namespace berth::tables {

using base::Ref;

template <class T, std::size_t kChunk = 256>
class CowVector {
  static_assert((kChunk & (kChunk - 1)) == 0);
  static constexpr std::size_t kFan = 32;

  // Aligned as T is: with a larger alignment the allocator takes a quarter more memory. Blocks of 1 KiB and more start
  // at a cache line anyway.
  struct Chunk {
    T data[kChunk];
    Chunk() : data{} {}
    // Rows past the copying vector's size may be under construction by another vector.
    Chunk(const Chunk& other, std::size_t rows) : data{} { std::copy(other.data, other.data + rows, data); }
  };
  /// A counted reference to a chunk, like base::Ref.
  class ChunkRef {
   public:
    ChunkRef() = default;
    explicit ChunkRef(Chunk* owned) : chunk_(owned), references_(new std::atomic<std::uint32_t>(1)) {}
    ChunkRef(const ChunkRef& other) : chunk_(other.chunk_), references_(other.references_) {
      if (chunk_) references_->fetch_add(1, std::memory_order_relaxed);
    }
    ChunkRef& operator=(ChunkRef other) noexcept {
      std::swap(chunk_, other.chunk_), std::swap(references_, other.references_);
      return *this;
    }
    ~ChunkRef() {
      // Releases our reads and writes; the last owner acquires those of all others before it frees.
      if (chunk_ && references_->fetch_sub(1, std::memory_order_acq_rel) == 1) delete chunk_, delete references_;
    }
    Chunk* operator->() const { return chunk_; }
    Chunk& operator*() const { return *chunk_; }
    /// Pairs with the release in the destructor of the last other holder.
    [[nodiscard]] bool unique() const { return references_->load(std::memory_order_acquire) == 1; }

   private:
    Chunk* chunk_ = nullptr;
    std::atomic<std::uint32_t>* references_ = nullptr;
  };
  struct Page {
    std::atomic<std::uint32_t> references{1};
    ChunkRef chunks[kFan];
    Page() = default;
    Page(const Page& other) { std::copy(other.chunks, other.chunks + kFan, chunks); }
  };
  struct Root {
    std::atomic<std::uint32_t> references{1};
    /// True if the root is a copy or has one, so that other roots may share its pages and chunks. If false, the root's
    /// owner owns them too, and a write need not read their counts, each on a cache line of its own.
    mutable std::atomic<bool> shares{false};
    std::vector<Ref<Page>> pages;
    Root() = default;
    Root(const Root& other) : shares(true), pages(other.pages) { other.shares.store(true, std::memory_order_relaxed); }
  };

 public:
  static constexpr std::size_t kChunkRows = kChunk;

  CowVector() = default;
  CowVector(const CowVector& other) : root_(other.root_), size_(other.size_) {}
  CowVector(CowVector&& other) noexcept
      : root_(std::move(other.root_)),
        size_(std::exchange(other.size_, 0)),
        tail_(std::exchange(other.tail_, nullptr)) {}
  CowVector& operator=(const CowVector& other) {
    if (this == &other) return *this;
    // If the column was only appended to since the copy, no reference count changes.
    if (root_.get() != other.root_.get()) root_ = other.root_;
    size_ = other.size_, tail_ = nullptr;
    return *this;
  }
  CowVector& operator=(CowVector&& other) noexcept {
    root_ = std::move(other.root_);
    size_ = std::exchange(other.size_, 0);
    tail_ = std::exchange(other.tail_, nullptr);
    return *this;
  }
  ~CowVector() = default;

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  const T& operator[](std::size_t row) const {
    BERTH_DEBUG_ASSERT(row < size_);
    return root_->pages[row / (kChunk * kFan)]->chunks[row / kChunk % kFan]->data[row % kChunk];
  }
  /// Prefetches the cache line of an element.
  void prefetch(std::size_t row) const {
    base::prefetch(&root_->pages[row / (kChunk * kFan)]->chunks[row / kChunk % kFan]->data[row % kChunk]);
  }
  /// The existing rows [index * kChunk, ...) of chunk `index`.
  [[nodiscard]] std::span<const T> chunk_at(std::size_t index) const {
    const Chunk& chunk = *root_->pages[index / kFan]->chunks[index % kFan];
    return {chunk.data, std::min(kChunk, size_ - index * kChunk)};
  }
  [[nodiscard]] std::size_t chunk_count() const { return (size_ + kChunk - 1) / kChunk; }

  /// The element for writing; copies shared parts of the path to it.
  T& edit(std::size_t row) {
    BERTH_DEBUG_ASSERT(row < size_);
    if (root_.unique()) {                                                   // usually nothing is shared
      const bool all_own = !root_->shares.load(std::memory_order_relaxed);  // copies are made before they are released
      const Ref<Page>& page = root_->pages[row / (kChunk * kFan)];
      if (all_own || page.unique()) {
        const ChunkRef& chunk = page->chunks[row / kChunk % kFan];
        if (all_own || chunk.unique()) return chunk->data[row % kChunk];
      }
    }
    return own_chunk(row / kChunk).data[row % kChunk];
  }
  void push_back(T value) {
    if (size_ % kChunk == 0)
      add_chunk();
    else if (!tail_)
      own_chunk(size_ / kChunk);
    tail_[size_ % kChunk] = std::move(value);
    ++size_;
  }
  void resize(std::size_t size) {
    BERTH_ASSERT(size >= size_);
    while (size_ < size) push_back(T{});
  }
  /// Becomes a copy of `other` with chunks of its own; keeps its chunks if the sizes are equal.
  void copy_rows(const CowVector& other) {
    if (size_ != other.size_) {
      CowVector out;
      out.resize(other.size_);
      *this = std::move(out);
    }
    for (std::size_t index = 0; index < chunk_count(); ++index) {
      const std::span<const T> from = other.chunk_at(index);
      std::copy(from.begin(), from.end(), &edit(index * kChunk));
    }
  }
  /// Number of chunks that this vector copied because they were shared.
  [[nodiscard]] std::uint64_t chunks_copied() const { return chunks_copied_; }
  /// Memory of chunks and pages; shared ones are counted in each copy.
  [[nodiscard]] std::size_t bytes() const {
    return chunk_count() * sizeof(Chunk) + (chunk_count() + kFan - 1) / kFan * sizeof(Page);
  }

 private:
  Root& own_root() {
    if (!root_)
      root_ = Ref<Root>(new Root());
    else if (!root_.unique())
      root_ = Ref<Root>(new Root(*root_));
    return *root_;
  }
  static Page& own_page(Root& root, std::size_t index) {
    Ref<Page>& page = root.pages[index];
    if (!page.unique()) page = Ref<Page>(new Page(*page));
    return *page;
  }
  Chunk& own_chunk(std::size_t index) {
    ChunkRef& chunk = own_page(own_root(), index / kFan).chunks[index % kFan];
    if (!chunk.unique()) {
      chunk = ChunkRef(new Chunk(*chunk, std::min(kChunk, size_ - index * kChunk)));
      ++chunks_copied_;
    }
    if (index == size_ / kChunk) tail_ = chunk->data;  // the chunk of the next append
    return *chunk;
  }
  void add_chunk() {
    const std::size_t index = size_ / kChunk;
    Root& root = own_root();
    if (index % kFan == 0) root.pages.emplace_back(new Page());
    ChunkRef& chunk = own_page(root, index / kFan).chunks[index % kFan];
    chunk = ChunkRef(new Chunk());
    tail_ = chunk->data;
  }

  Ref<Root> root_;
  std::size_t size_ = 0;
  std::uint64_t chunks_copied_ = 0;
  T* tail_ = nullptr;  ///< data of the chunk that holds row size(), if this vector may extend it in place
};

}  // namespace berth::tables
