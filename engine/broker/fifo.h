// Fifo: an unbounded first-in first-out queue of 32-bit values for any number of producers and consumers, lock-free.
//
// Layout. A Fifo is a chain of rings; nearly always one ring is in use. A ring has 2^k slots of 64 bits:
//     bits  0..31  value
//     bits 32..33  tag: empty, item, closed
//     bits 34..63  turn: number of times the slot has been emptied, modulo 2^30
// Position p (0, 1, 2, ...) of a ring is in slot p mod 2^k, during turn p / 2^k. Because of the turn, every change of a
// slot is a step forward: a compare-exchange that was prepared long ago fails instead of hitting a later lap (no ABA
// until a slot has been through 2^30 laps while one thread stalled).
//
// Algorithm. Only the slots are authoritative. `head` and `tail` are hints, positions at or before the true ones,
// stored without compare-exchange: a late store may move them back, which only costs the next operation a few steps.
//   push   walks from tail to the first position t that was never filled: its slot is `empty, turn(t)`. One
//          compare-exchange to `item, turn(t)` is the push. Then tail = t+1.
//   pop    walks from head to the first position h that was not emptied: its slot is `item, turn(h)`. One
//          compare-exchange to `empty, turn(h)+1` is the pop. Then head = h+1. If the slot is `empty, turn(h)`, nothing
//          was ever pushed at h; positions fill and empty in order, so the Fifo was empty at that very load.
//   walk   A slot whose turn is ahead of the position's was emptied in turn - 1, and so was everything before it: the
//          walk continues behind that position, laps included.
//   grow   A push fills slot t only after it saw slot t+1 free for position t+1. If it is not free, the ring is full
//          except for t: the push makes the next ring (twice the slots), links it, and writes `closed, turn(t)` into
//          slot t, in competition with other pushes for the same slot. Producers that meet `closed` continue in the
//          next ring. So do consumers, which have then emptied this one. A closed ring is never used again.
// Progress. Lock-free: a compare-exchange of a slot fails only because another one succeeded there, and every step of a
// walk passes a position that another operation has completed. A thread that stops anywhere delays no other thread.
//
// Memory. Rings are freed only with the Fifo, so a consumer may use an old ring for any length of time: no hazard
// pointers, no epochs. Rings double, so the old ones together are smaller than the current one. A Fifo that has reached
// its peak size never allocates again.
//
// Memory orders. A slot's compare-exchange of push (release) pairs with the slot loads of pop (acquire): a thread that
// sees the item sees what its producer wrote before pushing. The exchange of pop (release) pairs with the slot loads of
// push one lap later (acquire). `tail` and `head` are stored with release and loaded with acquire, so that a thread
// that starts at t sees slot t at least as its predecessor saw it: never a lap behind. `next` is published by a
// compare-exchange (release) before `closed` is; readers of `closed` (acquire) therefore find it. Slot exchanges and
// the loads of peek() are sequentially consistent because ReadyQueue requires it; see there.
//
// Checked by tests/broker: histories of seeded interleavings and of real threads, ThreadSanitizer, and a Promela model.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "base/assert.h"

namespace berth::broker {

inline constexpr std::size_t kCacheLineBytes = 64;

/// `Atomic` is std::atomic; tests substitute one that yields to another thread at every access.
template <template <class> class Atomic>
class alignas(kCacheLineBytes) BasicFifo {
  class Ring;

 public:
  /// A value seen at the head; take() makes it the caller's unless another thread took it first.
  struct Ticket {
    Ring* ring;
    std::uint64_t position, word;
    [[nodiscard]] std::uint32_t value() const { return static_cast<std::uint32_t>(word); }
  };

  static constexpr std::uint32_t kSlotsFirst = 64;

  BasicFifo() = default;
  ~BasicFifo() {
    for (Ring* ring = first_.load(std::memory_order_relaxed); ring;) {
      Ring* const next = ring->next.load(std::memory_order_relaxed);
      Ring::destroy(ring);
      ring = next;
    }
  }
  BasicFifo(const BasicFifo&) = delete;
  BasicFifo& operator=(const BasicFifo&) = delete;

  /// `slots_first` (a power of two, at least 2) is the size of the first ring, if this push has to make it.
  void push(std::uint32_t value, std::uint32_t slots_first = kSlotsFirst) {
    Ring* ring = push_ring_.load(std::memory_order_acquire);
    if (!ring) ring = start(slots_first);
    std::uint64_t t = ring->tail.load(std::memory_order_acquire);
    for (;;) {
      Atomic<std::uint64_t>& slot = ring->slot(t);
      std::uint64_t word = slot.load(std::memory_order_acquire);
      const std::uint64_t turn = ring->turn(t);
      if (turn_of(word) != turn) {
        t = ring->behind_emptied(t, turn_of(word));
      } else if (tag_of(word) == kItem) {
        ++t;
      } else if (tag_of(word) == kClosed) {
        Ring* const next = ring->next.load(std::memory_order_acquire);
        push_ring_.compare_exchange_strong(ring, next, std::memory_order_acq_rel, std::memory_order_acquire);
        ring = next;
        t = ring->tail.load(std::memory_order_acquire);
      } else if (turn_of(ring->slot(t + 1).load(std::memory_order_acquire)) == ring->turn(t + 1)) {
        // The moment of the push. seq_cst: ReadyQueue::show() loads the flags after it, see there.
        if (slot.compare_exchange_strong(word, make_word(turn, kItem, value), std::memory_order_seq_cst,
                                         std::memory_order_relaxed)) {
          ring->tail.store(t + 1, std::memory_order_release);
          return;
        }
      } else {
        close(ring, t);
      }
    }
  }

  /// False: the Fifo was empty at some moment during the call. True: `out` was the oldest value at some moment, that of
  /// the slot's load.
  bool peek(Ticket& out) {
    Ring* ring = pop_ring_.load(std::memory_order_seq_cst);
    if (!ring) return false;  // no push has completed yet: start() sets it before the first item is written
    std::uint64_t h = ring->head.load(std::memory_order_acquire);
    for (;;) {
      // seq_cst: the emptiness check of ReadyQueue::hide() comes after its claim in the one order of all such accesses.
      const std::uint64_t word = ring->slot(h).load(std::memory_order_seq_cst);
      if (turn_of(word) != ring->turn(h)) {
        h = ring->behind_emptied(h, turn_of(word));
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
          h = ring->head.load(std::memory_order_acquire);
        }
      }
    }
  }

  /// False: another thread took it.
  bool take(const Ticket& ticket) {
    std::uint64_t word = ticket.word;
    const std::uint64_t emptied = make_word(turn_of(word) + 1, kEmpty, 0);
    if (!ticket.ring->slot(ticket.position)
             .compare_exchange_strong(word, emptied, std::memory_order_seq_cst, std::memory_order_relaxed))
      return false;
    ticket.ring->head.store(ticket.position + 1, std::memory_order_release);
    return true;
  }

  /// Takes the oldest value; false if the Fifo was empty at some moment during the call.
  bool pop(std::uint32_t& value) {
    for (Ticket ticket; peek(ticket);) {
      if (!take(ticket)) continue;
      value = ticket.value();
      return true;
    }
    return false;
  }

  /// Number of rings: 0 before the first push; each further one is one growth.
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

  // Fields written by producers and by consumers are on two cache lines, each with the fields that its side reads. The
  // slots follow the second line.
  class alignas(kCacheLineBytes) Ring {
   public:
    static Ring* make(std::uint32_t slot_count) {
      BERTH_ASSERT(std::has_single_bit(slot_count) && slot_count >= 2);
      void* const memory =
          ::operator new (sizeof(Ring) + slot_count * sizeof(Atomic<std::uint64_t>), std::align_val_t{kCacheLineBytes});
      Ring* const ring = new (memory) Ring(slot_count);
      for (std::uint32_t i = 0; i < slot_count; ++i) new (ring->slots() + i) Atomic<std::uint64_t>(0);
      return ring;
    }
    static void destroy(Ring* ring) {  // atomics need no destructor
      ring->~Ring();
      ::operator delete (static_cast<void*>(ring), std::align_val_t{kCacheLineBytes});
    }
    Atomic<std::uint64_t>& slot(std::uint64_t position) { return slots()[position & mask()]; }
    [[nodiscard]] std::uint64_t turn(std::uint64_t position) const { return position >> shift & kTurnMask; }
    /// The position after the one last emptied in the slot of `position`, where the turn is `turn_found`.
    [[nodiscard]] std::uint64_t behind_emptied(std::uint64_t position, std::uint64_t turn_found) const {
      const std::uint64_t laps = (turn_found - turn(position)) & kTurnMask;
      return position + ((laps - 1) << shift) + 1;
    }

    Atomic<std::uint64_t> tail{0};
    const std::uint32_t shift;
    Atomic<Ring*> next{nullptr};
    alignas(kCacheLineBytes) Atomic<std::uint64_t> head{0};

   private:
    explicit Ring(std::uint32_t slot_count) : shift(static_cast<std::uint32_t>(std::countr_zero(slot_count))) {}
    [[nodiscard]] std::uint64_t mask() const { return (std::uint64_t{1} << shift) - 1; }
    Atomic<std::uint64_t>* slots() { return reinterpret_cast<Atomic<std::uint64_t>*>(this + 1); }
  };

  /// Makes the first ring. Consumers find it before any push returns.
  Ring* start(std::uint32_t slots_first) {
    Ring* first = first_.load(std::memory_order_acquire);
    if (!first) {
      Ring* const made = Ring::make(slots_first);
      if (first_.compare_exchange_strong(first, made, std::memory_order_acq_rel, std::memory_order_acquire))
        first = made;
      else
        Ring::destroy(made);
    }
    Ring* none = nullptr;
    pop_ring_.compare_exchange_strong(none, first, std::memory_order_seq_cst, std::memory_order_relaxed);
    none = nullptr;
    push_ring_.compare_exchange_strong(none, first, std::memory_order_acq_rel, std::memory_order_relaxed);
    return push_ring_.load(std::memory_order_acquire);
  }

  void close(Ring* ring, std::uint64_t t) {
    if (!ring->next.load(std::memory_order_acquire)) {
      Ring* const made = Ring::make(2u << ring->shift);
      Ring* none = nullptr;
      if (!ring->next.compare_exchange_strong(none, made, std::memory_order_acq_rel, std::memory_order_relaxed))
        Ring::destroy(made);
    }
    std::uint64_t free = make_word(ring->turn(t), kEmpty, 0);
    ring->slot(t).compare_exchange_strong(free, make_word(ring->turn(t), kClosed, 0), std::memory_order_seq_cst,
                                          std::memory_order_relaxed);
  }

  // One cache line, read by all threads, written when the Fifo grows.
  Atomic<Ring*> push_ring_{nullptr}, pop_ring_{nullptr}, first_{nullptr};
};

using Fifo = BasicFifo<std::atomic>;

}  // namespace berth::broker
