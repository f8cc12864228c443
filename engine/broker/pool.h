// NodePool: nodes of one type under 32-bit indexes, taken and returned by any number of threads, lock-free.
//
// Layout: chunks of 1024 nodes that are never moved, and freed only with the pool; index i is in chunk i / 1024. Free
// nodes form a stack. Its head is index + 1 (0 = none) in the low half of a word and a count of changes in the high
// half, which detects a head that was removed and came back. Index 0 is a valid node.
//
// Memory orders: put (release) pairs with take (acquire): the new owner sees what the old one wrote. A node's `next` is
// atomic because threads may read it while losing the node; the exchange of the head decides.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/assert.h"
#include "broker/fifo.h"

namespace berth::broker {

template <class T, template <class> class Atomic>
class NodePool {
 public:
  static constexpr std::uint32_t kNone = 0xffffffff;

  NodePool() : chunks_(std::make_unique<Atomic<Chunk*>[]>(kChunkCount)) {}
  ~NodePool() {
    for (std::uint32_t i = 0; i < kChunkCount; ++i) delete chunks_[i].load(std::memory_order_relaxed);
  }
  NodePool(const NodePool&) = delete;
  NodePool& operator=(const NodePool&) = delete;

  /// Returns a node for the caller's exclusive use. Allocates a chunk if none is free; the index space ends at 2^24
  /// nodes.
  std::uint32_t take() {
    std::uint64_t head = free_.load(std::memory_order_acquire);
    while (static_cast<std::uint32_t>(head) != 0) {
      const std::uint32_t index = static_cast<std::uint32_t>(head) - 1;
      const std::uint32_t next = node(index).next.load(std::memory_order_relaxed);
      const std::uint64_t after = ((head >> 32) + 1) << 32 | next;
      if (free_.compare_exchange_weak(head, after, std::memory_order_acq_rel, std::memory_order_acquire)) return index;
    }
    const std::uint32_t index = made_.fetch_add(1, std::memory_order_relaxed);
    BERTH_ASSERT(index / kChunk < kChunkCount);
    Atomic<Chunk*>& place = chunks_[index / kChunk];
    if (!place.load(std::memory_order_acquire)) {
      auto made = std::make_unique<Chunk>();
      Chunk* none = nullptr;
      if (place.compare_exchange_strong(none, made.get(), std::memory_order_acq_rel, std::memory_order_acquire))
        made.release();
    }
    return index;
  }

  /// Returns a node to the pool.
  void put(std::uint32_t index) {
    std::uint64_t head = free_.load(std::memory_order_relaxed);
    for (;;) {
      node(index).next.store(static_cast<std::uint32_t>(head), std::memory_order_relaxed);
      const std::uint64_t after = ((head >> 32) + 1) << 32 | (index + 1);
      if (free_.compare_exchange_weak(head, after, std::memory_order_release, std::memory_order_relaxed)) return;
    }
  }

  T& operator[](std::uint32_t index) { return node(index).value; }

 private:
  static constexpr std::uint32_t kChunk = 1024, kChunkCount = 1u << 14;
  struct Node {
    Atomic<std::uint32_t> next{0};
    T value{};
  };
  struct Chunk {
    Node nodes[kChunk];
  };
  Node& node(std::uint32_t index) {
    return chunks_[index / kChunk].load(std::memory_order_acquire)->nodes[index % kChunk];
  }

  const std::unique_ptr<Atomic<Chunk*>[]> chunks_;
  alignas(kCacheLineBytes) Atomic<std::uint64_t> free_{0};
  alignas(kCacheLineBytes) Atomic<std::uint32_t> made_{0};
};

}  // namespace berth::broker
