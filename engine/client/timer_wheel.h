// TimerWheel: all timers of all clients in one queue, ordered by time; timers of one time fire in the order in which
// they were set.
//
// Three parts, of which a timer lies in the first that it fits into; `base_` is the time of the last one that fired:
//   near    what lies in the same 17 ms as `base_`, in the slot of the highest digit of six bits in which it differs
//   ring    what comes before `horizon_`, seven to nine minutes ahead: a list per 17 ms
//   far     the rest, by digits of six bits like the first, from two minutes up
// The first part that holds anything holds the earliest timer. Its slot is handed to the part before it when its time
// comes, and one that is alone in its slot of the ring fires from there. So where timers lie some 10 ms apart, most are
// touched when they are set and when they fire, and setting, cancelling and firing cost a constant.
//
//   column        bytes  what
//   nodes            24  time, links of the slot's list, subject, kind, slot; free ones are chained
//   slots    33,344 x 8  head and tail of a list
//   bits              -  per slot: does it hold anything; of the ring also per 64 slots
// The nodes of a list lie anywhere, and each would be a cache miss: firing one asks for those that come next.
// Memory is that of the largest number of timers there ever was at once. Threads: one.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "base/assert.h"

namespace berth::client {

using TimerId = std::uint32_t;
inline constexpr TimerId kNoTimer = ~0u;

class TimerWheel {
 public:
  static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
  struct Fired {
    std::int64_t at = 0;
    std::uint32_t subject = 0;
    std::uint8_t kind = 0;
  };

  /// `at` is not negative and not before the last timer that fired.
  TimerId set(std::int64_t at, std::uint8_t kind, std::uint32_t subject) {
    BERTH_ASSERT(at >= base_ && at != kNone);
    TimerId id = free_;
    if (id == kNoTimer) {
      id = static_cast<TimerId>(nodes_.size());
      nodes_.emplace_back();
    } else {
      free_ = nodes_[id].next;
    }
    nodes_[id].at = at, nodes_[id].kind = kind, nodes_[id].subject = subject;
    link(id);
    if (size_++ == 0 || (earliest_ != kNone && at < earliest_)) earliest_ = at, first_ = nodes_[id].slot;
    return id;
  }

  /// Takes the timer back and forgets its number; kNoTimer is none.
  void cancel(TimerId& id) {
    if (id == kNoTimer) return;
    take(id);
    id = kNoTimer;
  }

  /// Time of the earliest timer, or kNone.
  [[nodiscard]] std::int64_t next() {
    if (earliest_ == kNone && size_ != 0) {
      first_ = first_slot();
      if (first_ < 64) return earliest_ = nodes_[slots_[first_].head].at;  // all of them are of one time
      for (TimerId id = slots_[first_].head; id != kNoTimer; id = nodes_[id].next)
        earliest_ = std::min(earliest_, nodes_[id].at);
    }
    return earliest_;
  }

  /// Takes the earliest timer if it is due at `now`. `near(kind, subject)` is called for timers that come soon after.
  template <class Near>
  bool pop(std::int64_t now, Fired& out, Near&& near) {
    const std::int64_t at = next();
    if (at > now || size_ == 0) return false;
    std::size_t slot = first_;
    if (slot >= kFar) {
      base_ = at;
      move_horizon();
      slot = first_slot();
    }
    if (slot >= kRing) ask_ahead(slot - kRing, near);
    if (slots_[slot].head == slots_[slot].tail) {
      base_ = at;  // nothing else differs from it in that digit or in a lower one
    } else if (at != base_) {
      base_ = at;
      hand_down(slot);
      slot = near_slot(at);
    }
    if (base_ >= moves_at_) move_horizon();
    const TimerId id = slots_[slot].head;
    BERTH_ASSERT(id != kNoTimer && nodes_[id].at == at);
    out = {at, nodes_[id].subject, nodes_[id].kind};
    take(id);
    return true;
  }

  bool pop(std::int64_t now, Fired& out) {
    return pop(now, out, [](std::uint8_t, std::uint32_t) {});
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t capacity() const { return nodes_.size(); }

 private:
  static constexpr unsigned kRingShift = 24, kRingBits = 15, kFarShift = 37, kDigit = 6;
  static constexpr std::int64_t kWindow = std::int64_t{1} << (kRingShift + kRingBits);
  static constexpr std::int64_t kStep = std::int64_t{1} << kFarShift;  // the horizon moves by that
  static constexpr std::size_t kNearLevels = kRingShift / kDigit, kFarLevels = (63 - kFarShift + kDigit - 1) / kDigit;
  // Slots: 64 per level of the near part, the ring, 64 per level of the far part.
  static constexpr std::size_t kRing = kNearLevels << kDigit, kRingSlots = std::size_t{1} << kRingBits,
                               kFar = kRing + kRingSlots, kSlots = kFar + (kFarLevels << kDigit);
  static constexpr std::size_t kRingWords = kRingSlots / 64;
  static constexpr std::size_t kNoSlot = ~std::size_t{0};

  struct Node {
    std::int64_t at = 0;
    TimerId next = kNoTimer, prev = kNoTimer;
    std::uint32_t subject = 0;
    std::uint16_t slot = 0;
    std::uint8_t kind = 0;
  };
  static_assert(sizeof(Node) == 24 && kSlots <= 1U << 16);
  struct Slot {
    TimerId head = kNoTimer, tail = kNoTimer;
  };

  /// Slot among levels of 64 from `from` on: of the highest digit in which `a` differs from `b`.
  static std::size_t digit_slot(std::int64_t a, std::int64_t b, unsigned shift, std::size_t from) {
    const std::uint64_t differing = static_cast<std::uint64_t>(a ^ b) >> shift;
    const unsigned level = differing == 0 ? 0 : static_cast<unsigned>(63 - std::countl_zero(differing)) / kDigit;
    return from + (std::size_t{level} << kDigit) +
           (static_cast<std::size_t>(a >> (shift + level * kDigit)) & ((1U << kDigit) - 1));
  }
  [[nodiscard]] std::size_t near_slot(std::int64_t at) const { return digit_slot(at, base_, 0, 0); }
  static std::size_t ring_place(std::int64_t at) {
    return static_cast<std::size_t>(at >> kRingShift) & (kRingSlots - 1);
  }
  [[nodiscard]] std::size_t slot_of(std::int64_t at) const {
    if ((at ^ base_) >> kRingShift == 0) return near_slot(at);
    return at < horizon_ ? kRing + ring_place(at) : digit_slot(at, far_base_, kFarShift, kFar);
  }

  /// The first place of the ring from `from` on, round to the one before it, that holds anything; kNoSlot: none does.
  [[nodiscard]] std::size_t ring_from(std::size_t from) const {
    std::size_t word = from / 64;
    if (const std::uint64_t bits = occupied_[kRing / 64 + word] & ~std::uint64_t{0} << from % 64; bits != 0)
      return word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
    for (std::size_t turn = 0; turn <= ring_words_.size(); ++turn) {
      word = (word + 1) % kRingWords;
      const std::uint64_t words = ring_words_[word / 64] & ~std::uint64_t{0} << word % 64;
      if (words != 0) {
        word = word / 64 * 64 + static_cast<std::size_t>(std::countr_zero(words));
        return word * 64 + static_cast<std::size_t>(std::countr_zero(occupied_[kRing / 64 + word]));
      }
      word |= 63;  // the last of these
    }
    return kNoSlot;
  }

  /// The slot that holds the earliest timer; there is one.
  [[nodiscard]] std::size_t first_slot() const {
    for (std::size_t word = 0; word < kNearLevels; ++word)
      if (occupied_[word] != 0) return word * 64 + static_cast<std::size_t>(std::countr_zero(occupied_[word]));
    if (const std::size_t place = ring_from(ring_place(base_)); place != kNoSlot) return kRing + place;
    return first_far_slot();
  }
  [[nodiscard]] std::size_t first_far_slot() const {
    for (std::size_t word = kFar / 64; word < kSlots / 64; ++word)
      if (occupied_[word] != 0) return word * 64 + static_cast<std::size_t>(std::countr_zero(occupied_[word]));
    return kNoSlot;
  }

  [[nodiscard]] bool holds(std::size_t slot) const { return (occupied_[slot / 64] >> slot % 64 & 1) != 0; }
  void occupy(std::size_t slot) {
    const std::size_t word = slot / 64;
    occupied_[word] |= std::uint64_t{1} << slot % 64;
    if (slot >= kRing && slot < kFar)
      ring_words_[(word - kRing / 64) / 64] |= std::uint64_t{1} << (word - kRing / 64) % 64;
  }
  void vacate(std::size_t slot) {
    const std::size_t word = slot / 64;
    occupied_[word] &= ~(std::uint64_t{1} << slot % 64);
    if (slot >= kRing && slot < kFar && occupied_[word] == 0)
      ring_words_[(word - kRing / 64) / 64] &= ~(std::uint64_t{1} << (word - kRing / 64) % 64);
  }

  void link(TimerId id) {
    Node& node = nodes_[id];
    const std::size_t slot = slot_of(node.at);
    Slot& list = slots_[slot];
    node.slot = static_cast<std::uint16_t>(slot);
    node.next = kNoTimer, node.prev = list.tail;
    if (list.tail == kNoTimer) {
      list.head = id;
      occupy(slot);
    } else {
      nodes_[list.tail].next = id;
    }
    list.tail = id;
  }

  /// Out of its list, and free.
  void take(TimerId id) {
    Node& node = nodes_[id];
    Slot& list = slots_[node.slot];
    (node.prev == kNoTimer ? list.head : nodes_[node.prev].next) = node.next;
    (node.next == kNoTimer ? list.tail : nodes_[node.next].prev) = node.prev;
    if (list.head == kNoTimer) vacate(node.slot);
    if (node.at == earliest_) earliest_ = kNone;  // to be looked up
    node.next = free_;
    free_ = id;
    --size_;
  }

  /// The timers of the slot to where they belong by now, in the order of its list.
  void hand_down(std::size_t slot) {
    TimerId id = std::exchange(slots_[slot], {}).head;
    vacate(slot);
    while (id != kNoTimer) {
      const TimerId next = nodes_[id].next;
      if (next != kNoTimer) __builtin_prefetch(&nodes_[next]);
      link(id);
      id = next;
    }
  }

  /// As far ahead as the ring reaches from `base_`. What comes before it leaves the far part, which has it in whole
  /// steps: so timers of one time are never in both.
  void move_horizon() {
    horizon_ = (base_ > kNone - kWindow ? kNone : base_ + kWindow) >> kFarShift << kFarShift;
    moves_at_ = horizon_ > kNone - kStep ? kNone : horizon_ + kStep - kWindow;
    for (std::size_t slot = first_far_slot(); slot != kNoSlot; slot = first_far_slot()) {
      const unsigned shift = kFarShift + static_cast<unsigned>((slot - kFar) >> kDigit) * kDigit;
      const std::int64_t begin = nodes_[slots_[slot].head].at >> shift << shift;
      if (begin >= horizon_) return;
      far_base_ = begin;
      hand_down(slot);
    }
  }

  /// Asks for what comes after the timers at `place` of the ring: by way of `near` for what the next ones are about,
  /// and for the node of those after them.
  template <class Near>
  void ask_ahead(std::size_t place, Near&& near) {
    std::size_t first = ahead_;
    if (first == place || !holds(kRing + first)) first = ring_from((place + 1) % kRingSlots);
    TimerId id = slots_[kRing + first].head;
    for (int few = 0; few < 4 && id != kNoTimer; ++few, id = nodes_[id].next) near(nodes_[id].kind, nodes_[id].subject);
    ahead_ = ring_from((first + 1) % kRingSlots);
    __builtin_prefetch(&nodes_[slots_[kRing + ahead_].head]);
  }

  std::vector<Node> nodes_;
  std::vector<Slot> slots_ = std::vector<Slot>(kSlots);
  std::array<std::uint64_t, kSlots / 64> occupied_{};
  std::array<std::uint64_t, kRingWords / 64> ring_words_{};
  TimerId free_ = kNoTimer;
  std::int64_t base_ = 0;
  std::int64_t horizon_ = kWindow, moves_at_ = kStep;  // the horizon, and the time when it is to move
  std::int64_t far_base_ = 0;                          // not after any timer of the far part
  std::int64_t earliest_ = kNone;                      // kNone with timers: to be looked up
  std::size_t first_ = 0;                              // its slot, where it is known
  std::size_t ahead_ = 0;                              // the place of the ring that was asked for last
  std::size_t size_ = 0;
};

}  // namespace berth::client
