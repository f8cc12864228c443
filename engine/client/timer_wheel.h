// TimerWheel: all timers of all clients in one queue, ordered by time; timers of equal time fire in the order in which
// they were set.
//
// Time is read as eleven digits of six bits. A timer is in the slot of the highest digit in which it differs from
// `base_`, the time of the last timer that fired; so the lowest occupied level holds the earliest timer. Popping moves
// `base_` there and moves the timers of that one slot down by at least one level each. So setting, cancelling and
// firing have a constant cost, however many timers there are. A timer 10 s ahead moves at most five times. One that is
// alone in its slot fires from there: after two moves if timers are some 10 ms apart.
//
//   column      bytes  what
//   nodes          32  time, links of the slot's list, subject, kind, place; free nodes are chained
//   slots     11 x 64  head, tail and earliest time of a list, and the last timers added
// The nodes of a list are scattered, and each would be a cache miss: a node stores the one that was added kAhead later,
// and list traversals prefetch it. The hint may be stale, which costs a useless prefetch. Memory is that of the largest
// number of timers at any one time. Threads: one.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/assert.h"
#include "base/prefetch.h"

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

  /// `at` must be neither negative nor before the last timer that fired.
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
    ++size_;
    return id;
  }

  /// Cancels the timer and clears its number; kNoTimer is ignored.
  void cancel(TimerId& id) {
    if (id == kNoTimer) return;
    unlink(id);
    release(id);
    id = kNoTimer;
  }

  /// Time of the earliest timer, or kNone.
  [[nodiscard]] std::int64_t next() {
    if (levels_ == 0) return kNone;
    const std::size_t level = lowest_level();
    Slot& slot = slots_[level][static_cast<std::size_t>(std::countr_zero(occupied_[level]))];
    if (slot.earliest == kNone) {  // the earliest one was cancelled
      for (TimerId id = slot.head; id != kNoTimer; id = nodes_[id].next) {
        prefetch(nodes_[id]);
        slot.earliest = std::min(slot.earliest, nodes_[id].at);
      }
    }
    return slot.earliest;
  }

  /// Pops the earliest timer if it is due at `now`. Calls `near(kind, subject)` for timers that are due soon after it.
  template <class Near>
  bool pop(std::int64_t now, Fired& out, Near&& near) {
    const std::int64_t at = next();
    if (at > now) return false;
    TimerId id = alone_in_first_slot();
    if (id != kNoTimer) {
      base_ = at;  // no other timer differs from it in that digit or a lower one
    } else {
      if (at != base_) hand_down(at, near);
      id = slots_[0][digit(at, 0)].head;
    }
    BERTH_ASSERT(id != kNoTimer && nodes_[id].at == at);
    out = {at, nodes_[id].subject, nodes_[id].kind};
    unlink(id);
    release(id);
    return true;
  }

  bool pop(std::int64_t now, Fired& out) {
    return pop(now, out, [](std::uint8_t, std::uint32_t) {});
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t capacity() const { return nodes_.size(); }

 private:
  static constexpr std::size_t kLevels = 11, kSlots = 64, kBits = 6;
  static constexpr std::size_t kNearLevel = 5;  // a slot of it spans a second of nanoseconds
  struct Node {
    std::int64_t at = 0;
    TimerId next = kNoTimer, prev = kNoTimer;
    std::uint32_t subject = 0;
    std::uint8_t kind = 0, level = 0, slot = 0;
    TimerId ahead = 0;  // a hint; may be any node
  };
  static_assert(sizeof(Node) == 32);
  static constexpr std::uint32_t kAhead = 16;
  struct Slot {
    std::int64_t earliest = kNone;  // kNone although the list is not empty: unknown
    TimerId head = kNoTimer, tail = kNoTimer;
    std::uint32_t came = 0;  // added since the list was last empty
    std::array<TimerId, kAhead> last{};
  };

  void prefetch(const Node& node) const { base::prefetch(&nodes_[node.ahead]); }

  /// The lowest occupied level; there must be one.
  [[nodiscard]] std::size_t lowest_level() const { return static_cast<std::size_t>(std::countr_zero(levels_)); }

  /// Marks a slot whose list is empty.
  void vacate(std::size_t level, std::size_t slot) {
    occupied_[level] &= ~(std::uint64_t{1} << slot);
    if (occupied_[level] == 0) levels_ &= ~(1u << level);
  }

  static std::size_t digit(std::int64_t at, std::size_t level) {
    return static_cast<std::size_t>(at >> (kBits * level)) & (kSlots - 1);
  }

  void link(TimerId id) {
    Node& node = nodes_[id];
    const auto differing = static_cast<std::uint64_t>(node.at ^ base_);
    const std::size_t level = differing == 0 ? 0 : static_cast<std::size_t>(63 - std::countl_zero(differing)) / kBits;
    const std::size_t at = digit(node.at, level);
    Slot& slot = slots_[level][at];
    node.level = static_cast<std::uint8_t>(level), node.slot = static_cast<std::uint8_t>(at);
    node.next = kNoTimer, node.prev = slot.tail;
    if (slot.tail == kNoTimer) {
      slot.head = id, slot.earliest = node.at;
      occupied_[level] |= std::uint64_t{1} << at;
      levels_ |= 1u << level;
    } else {
      nodes_[slot.tail].next = id;
      if (slot.earliest != kNone) slot.earliest = std::min(slot.earliest, node.at);
    }
    slot.tail = id;
    TimerId& last = slot.last[slot.came++ % kAhead];
    nodes_[last].ahead = id;
    last = id;
  }

  void unlink(TimerId id) {
    const Node& node = nodes_[id];
    Slot& slot = slots_[node.level][node.slot];
    (node.prev == kNoTimer ? slot.head : nodes_[node.prev].next) = node.next;
    (node.next == kNoTimer ? slot.tail : nodes_[node.next].prev) = node.prev;
    if (slot.head == kNoTimer) {
      slot.earliest = kNone;
      vacate(node.level, node.slot);
    } else if (node.level > 0 && slot.earliest == node.at) {
      slot.earliest = kNone;
    }
  }

  void release(TimerId id) {
    nodes_[id].next = free_;
    free_ = id;
    --size_;
  }

  /// The earliest timer if it is alone in its slot, as most are if timers are spread out; else kNoTimer.
  [[nodiscard]] TimerId alone_in_first_slot() const {
    const std::size_t level = lowest_level();
    const Slot& slot = slots_[level][static_cast<std::size_t>(std::countr_zero(occupied_[level]))];
    return slot.head == slot.tail ? slot.head : kNoTimer;
  }

  /// Moves `base_` to the earliest timer, and the timers of its slot to lower levels in list order.
  template <class Near>
  void hand_down(std::int64_t at, Near&& near) {
    const std::size_t level = lowest_level();
    base_ = at;
    if (level == 0) return;
    const std::size_t from = digit(at, level);
    TimerId id = slots_[level][from].head;
    slots_[level][from] = {};
    vacate(level, from);
    while (id != kNoTimer) {
      const TimerId next = nodes_[id].next;
      prefetch(nodes_[id]);
      if (level <= kNearLevel) near(nodes_[id].kind, nodes_[id].subject);
      link(id);
      id = next;
    }
  }

  std::vector<Node> nodes_;
  std::array<std::array<Slot, kSlots>, kLevels> slots_{};
  std::array<std::uint64_t, kLevels> occupied_{};
  std::uint32_t levels_ = 0;  // a bit per level that is occupied
  TimerId free_ = kNoTimer;
  std::int64_t base_ = 0;
  std::size_t size_ = 0;
};

}  // namespace berth::client
