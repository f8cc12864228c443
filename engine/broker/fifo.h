// Fifo: an unbounded first-in first-out queue of 32-bit values for any number of producers and consumers, lock-free.
//
// Layout. A Fifo is a chain of rings; nearly always one ring is in use. A ring has 2^k slots of 64 bits:
//     bits  0..31  value
//     bits 32..33  tag: empty, item, closed
//     bits 34..63  turn: how often the slot has been emptied, modulo 2^30
// Position p (0, 1, 2, ...) of a ring lives in slot p mod 2^k, during turn p / 2^k. The turn makes every change of a
// slot a step forward, so a compare-exchange that was prepared long ago fails instead of hitting a later lap (no ABA
// until a slot has been through 2^30 laps while one thread stood still).
//
// Algorithm. The slots are the truth; `head` and `tail` are positions that lag behind by at most the operations in
// flight and that everybody who finds them lagging moves on.
//   push   at position t = tail: slot is `empty, turn(t)` -> compare-exchange to `item, turn(t)`; that is the moment of
//          the push. Then tail t -> t+1.
//   pop    at position h = head: slot is `item, turn(h)` -> compare-exchange to `empty, turn(h)+1`; then head h -> h+1.
//          `empty, turn(h)`: nothing was ever pushed at h, and positions fill in order, so the Fifo is empty at that
//          very load.
//   grow   A push fills slot t only after it saw slot t+1 free for position t+1. Where it is not, the ring is full but
//          for t: the push makes the next ring (twice the slots), links it, and writes `closed, turn(t)` into slot t,
//          in competition with other pushes for the same slot. Producers that meet `closed` go on in the next ring, and
//          so do consumers, who have then emptied this one. A ring that was closed is never used again.
//
// Progress. Lock-free: a compare-exchange of a slot fails only because another one succeeded there, and a lagging head
// or tail is moved on by whoever sees it. A thread that stops anywhere delays nobody.
//
// Memory. Rings are freed with the Fifo and not before, so a consumer may stand on an old ring for as long as it likes:
// no hazard pointers, no epochs. Rings double, so old ones together are smaller than the one in use; a Fifo that has
// reached the size of its load never allocates again.
//
// Memory orders. A slot's compare-exchange of push (release) pairs with the slot loads of pop (acquire): whoever sees
// the item sees what its producer wrote before pushing. The exchange of pop (release) pairs with the slot loads of push
// one lap later (acquire). `next` is published by a compare-exchange (release) before `closed` is; readers of `closed`
// (acquire) therefore find it. Slot accesses are sequentially consistent where ReadyQueue needs them so; see there.
//
// Checked by tests/broker: histories of seeded interleavings and of real threads, ThreadSanitizer, and a Promela model.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/assert.h"

namespace berth::broker {

inline constexpr std::size_t kCacheLineBytes = 64;

/// `Atomic` is std::atomic; tests put one in its place that hands control to another thread at every access.
template <template <class> class Atomic>
class BasicFifo {
  struct Ring;

 public:
  /// A value that was seen at the head; take() makes it the caller's unless somebody was faster.
  struct Ticket {
    Ring* ring;
    std::uint64_t position, word;
    [[nodiscard]] std::uint32_t value() const { return static_cast<std::uint32_t>(word); }
  };

  /// `slots_first` (a power of two, at least 2) sizes the first ring, which is made at the first push.
  explicit BasicFifo(std::uint32_t slots_first = 64) : slots_first_(slots_first) {
    BERTH_ASSERT(std::has_single_bit(slots_first) && slots_first >= 2);
  }
  ~BasicFifo() {
    for (Ring* ring = first_.load(std::memory_order_relaxed); ring;) {
      Ring* const next = ring->next.load(std::memory_order_relaxed);
      delete ring;
      ring = next;
    }
  }
  BasicFifo(const BasicFifo&) = delete;
  BasicFifo& operator=(const BasicFifo&) = delete;

  void push(std::uint32_t value) {
    Ring* ring = push_ring_.load(std::memory_order_acquire);
    if (!ring) ring = start();
    for (;;) {
      std::uint64_t t = ring->tail.load(std::memory_order_acquire);
      Atomic<std::uint64_t>& slot = ring->slot(t);
      std::uint64_t word = slot.load(std::memory_order_acquire);
      const std::uint64_t free = make_word(ring->turn(t), kEmpty, 0);
      if (word == free) {
        const std::uint64_t after = ring->slot(t + 1).load(std::memory_order_acquire);
        if (turn_of(after) == (ring->turn(t + 1) & kTurnMask)) {
          // The moment of the push. seq_cst: ReadyQueue::show() loads the flags after it, see there.
          if (slot.compare_exchange_strong(word, make_word(ring->turn(t), kItem, value), std::memory_order_seq_cst,
                                           std::memory_order_relaxed)) {
            ring->tail.compare_exchange_strong(t, t + 1, std::memory_order_release, std::memory_order_relaxed);
            return;
          }
        } else {
          close(ring, t);
        }
      } else if (word == make_word(ring->turn(t), kClosed, 0)) {
        Ring* const next = ring->next.load(std::memory_order_acquire);
        push_ring_.compare_exchange_strong(ring, next, std::memory_order_acq_rel, std::memory_order_acquire);
        ring = next;
      } else {  // position t is filled already: its producer has yet to move the tail
        ring->tail.compare_exchange_strong(t, t + 1, std::memory_order_release, std::memory_order_relaxed);
      }
    }
  }

  /// False: the Fifo was empty at one moment during the call. True: `out` was the oldest value at one moment, namely
  /// that of the slot's load.
  bool peek(Ticket& out) {
    Ring* ring = pop_ring_.load(std::memory_order_seq_cst);
    if (!ring) return false;  // no push is over yet: start() sets it before the first item is written
    for (;;) {
      std::uint64_t h = ring->head.load(std::memory_order_acquire);
      // seq_cst: the emptiness check of ReadyQueue::hide() comes after its claim in the one order of all such accesses.
      const std::uint64_t word = ring->slot(h).load(std::memory_order_seq_cst);
      if (turn_of(word) != (ring->turn(h) & kTurnMask)) {  // taken already: its consumer has yet to move the head
        ring->head.compare_exchange_strong(h, h + 1, std::memory_order_release, std::memory_order_relaxed);
        continue;
      }
      switch (tag_of(word)) {
        case kItem:
          out = {ring, h, word};
          return true;
        case kEmpty:
          return false;
        default: {
          Ring* const next = ring->next.load(std::memory_order_acquire);
          pop_ring_.compare_exchange_strong(ring, next, std::memory_order_acq_rel, std::memory_order_acquire);
          ring = next;
        }
      }
    }
  }

  /// False: somebody else took it.
  bool take(const Ticket& ticket) {
    std::uint64_t word = ticket.word, h = ticket.position;
    const std::uint64_t emptied = make_word(turn_of(word) + 1, kEmpty, 0);
    if (!ticket.ring->slot(h).compare_exchange_strong(word, emptied, std::memory_order_seq_cst,
                                                      std::memory_order_relaxed))
      return false;
    ticket.ring->head.compare_exchange_strong(h, h + 1, std::memory_order_release, std::memory_order_relaxed);
    return true;
  }

  /// Takes the oldest value; false when the Fifo was empty at one moment during the call.
  bool pop(std::uint32_t& value) {
    for (Ticket ticket; peek(ticket);) {
      if (!take(ticket)) continue;
      value = ticket.value();
      return true;
    }
    return false;
  }

  /// How many rings there are: 0 before the first push; each more is one growth.
  [[nodiscard]] std::uint32_t ring_count() const {
    std::uint32_t count = 0;
    for (const Ring* ring = first_.load(std::memory_order_acquire); ring;
         ring = ring->next.load(std::memory_order_acquire))
      ++count;
    return count;
  }

 private:
  enum Tag : std::uint64_t { kEmpty = 0, kItem = 1, kClosed = 2 };
  static constexpr std::uint64_t kTurnMask = (std::uint64_t{1} << 30) - 1;
  static std::uint64_t make_word(std::uint64_t turn, Tag tag, std::uint32_t value) {
    return (turn & kTurnMask) << 34 | tag << 32 | value;
  }
  static std::uint64_t turn_of(std::uint64_t word) { return word >> 34; }
  static Tag tag_of(std::uint64_t word) { return static_cast<Tag>(word >> 32 & 3); }

  // What never changes, what producers write and what consumers write lie on three cache lines.
  struct Ring {
    explicit Ring(std::uint32_t slot_count)
        : shift(static_cast<std::uint32_t>(std::countr_zero(slot_count))),
          mask(slot_count - 1),
          slots(std::make_unique<Atomic<std::uint64_t>[]>(slot_count)) {}
    Atomic<std::uint64_t>& slot(std::uint64_t position) { return slots[position & mask]; }
    [[nodiscard]] std::uint64_t turn(std::uint64_t position) const { return position >> shift; }
    const std::uint32_t shift;
    const std::uint64_t mask;
    const std::unique_ptr<Atomic<std::uint64_t>[]> slots;
    Atomic<Ring*> next{nullptr};
    alignas(kCacheLineBytes) Atomic<std::uint64_t> tail{0};
    alignas(kCacheLineBytes) Atomic<std::uint64_t> head{0};
  };

  /// Makes the first ring; consumers find it before any producer returns from push.
  Ring* start() {
    Ring* first = first_.load(std::memory_order_acquire);
    if (!first) {
      auto* made = new Ring(slots_first_);
      if (first_.compare_exchange_strong(first, made, std::memory_order_acq_rel, std::memory_order_acquire))
        first = made;
      else
        delete made;
    }
    Ring* none = nullptr;
    pop_ring_.compare_exchange_strong(none, first, std::memory_order_seq_cst, std::memory_order_relaxed);
    none = nullptr;
    push_ring_.compare_exchange_strong(none, first, std::memory_order_acq_rel, std::memory_order_relaxed);
    return push_ring_.load(std::memory_order_acquire);
  }

  void close(Ring* ring, std::uint64_t t) {
    if (!ring->next.load(std::memory_order_acquire)) {
      auto* made = new Ring(2u << ring->shift);
      Ring* none = nullptr;
      if (!ring->next.compare_exchange_strong(none, made, std::memory_order_acq_rel, std::memory_order_relaxed))
        delete made;
    }
    std::uint64_t free = make_word(ring->turn(t), kEmpty, 0);
    ring->slot(t).compare_exchange_strong(free, make_word(ring->turn(t), kClosed, 0), std::memory_order_seq_cst,
                                          std::memory_order_relaxed);
  }

  // Read by everybody, written when the Fifo grows: one line of its own.
  alignas(kCacheLineBytes) Atomic<Ring*> push_ring_{nullptr};
  Atomic<Ring*> pop_ring_{nullptr}, first_{nullptr};
  const std::uint32_t slots_first_;
};

using Fifo = BasicFifo<std::atomic>;

}  // namespace berth::broker
