// ReadyQueue: values that are ready to run, by priority; lock-free for any number of producers and consumers.
//
// Layout. One Fifo (fifo.h) per level; a level is a priority. In addition one 64-bit word per 16 levels:
//     bits  0..15  flag per level: it may hold something
//     bits 16..20  claim: 16 + the level within the word that a thread is about to hide; 0 = none
//     bits 21..63  version: +1 at every change of the word
// 128 levels have 8 words, one cache line. A flag that is set while its level is empty costs an extra peek; a clear
// flag while a completed push is in its level would lose the push. The claim prevents the latter.
//
// Algorithm.
//   push   pushes to the level's Fifo, then show(): loads the word. Flag set and level not claimed: done, no shared
//          memory but the Fifo was written. Otherwise sets the flag, clears the claim and raises the version.
//   hide   (of a level found empty) claims the level in the word, then checks again whether the Fifo is empty, then
//          clears the flag, or only the claim, by a compare-exchange that fails after any change in between.
//          Another thread's claim is completed first.
//          Why it is safe: push writes its slot, then loads the word; hide writes the word (claim), then loads the
//          slot; all four are sequentially consistent. So either hide sees the item, or the push sees the claim,
//          clears it and thereby makes hide's exchange fail or undoes it before push returns.
//   pop    1. loads the words from the top until one has a flag set; sums the versions of those above.
//          2. peeks into that level; if empty, hides it and starts again.
//          3. loads the words above and this one again: unchanged versions mean that no higher level had a flag at the
//             moment of the peek. Changed: starts again.
//          4. takes the peeked item from its slot; if another thread was faster, starts again.
//          If all words are without flags twice with unchanged versions, the queue was empty in between.
//
// Linearizable: a push takes effect when its item is in its slot under a set flag, and lasts until the item is taken; a
// pop at the peek of step 2 (step 4 proves that the item was still the level's oldest), an empty pop between the two
// passes. So no pop returns an item while a completed push of higher priority waits, the order within a level is the
// order of the pushes, and nothing is lost or returned twice.
//
// Progress. Lock-free: every restart is caused by a change that another thread completed: a take, a show or a hide. If
// a thread stalls halfway through a hide, the next thread that needs the word completes it.
//
// Memory. As in Fifo: nothing is freed before the queue, nothing is allocated once each level has reached its peak.
#pragma once

#include <limits>

#include "broker/fifo.h"

namespace berth::broker {

template <template <class> class Atomic>
class BasicReadyQueue {
 public:
  /// Levels 0 to level_count-1, the highest is popped first. `slots_first`: size of a level's first ring.
  explicit BasicReadyQueue(std::uint32_t level_count, std::uint32_t slots_first = 64)
      : level_count_(level_count),
        slots_first_(slots_first),
        levels_(std::make_unique<Level[]>(level_count)),
        lines_(std::make_unique<Line[]>((level_count + kFlags * kWordsPerLine - 1) / (kFlags * kWordsPerLine))) {
    BERTH_ASSERT(level_count > 0);
  }

  /// Appends `value` to `level`.
  void push(std::uint32_t level, std::uint32_t value) {
    BERTH_ASSERT(level < level_count_);
    levels_[level].push(value, slots_first_);
    show(level);
  }

  /// Takes the oldest value of the highest level that holds one. False if the queue was empty at some moment of the
  /// call.
  bool pop(std::uint32_t& value) {
    for (;;) {
      const Pass first = scan();
      if (first.level == kNone) {
        const Pass second = scan();
        if (second.level == kNone && second.versions == first.versions && second.words == first.words) return false;
        continue;
      }
      typename Level::Ticket ticket;
      if (!levels_[first.level].peek(ticket)) {
        hide(first.level);
        continue;
      }
      if (!nothing_above(first)) continue;
      if (levels_[first.level].take(ticket)) {
        value = ticket.value();
        return true;
      }
    }
  }

  /// The highest level that holds something, or -1. Hides empty levels above it: a flag outlasts the last value of its
  /// level. Exact while no other thread works, otherwise a hint.
  [[nodiscard]] std::int32_t top_level() {
    for (;;) {
      const Pass pass = scan();
      if (pass.level == kNone) return -1;
      typename Level::Ticket ticket;
      if (levels_[pass.level].peek(ticket)) return static_cast<std::int32_t>(pass.level);
      hide(pass.level);
    }
  }

  /// Number of rings of all levels; it grows only when a level reaches a new peak.
  [[nodiscard]] std::uint32_t ring_count() const {
    std::uint32_t count = 0;
    for (std::uint32_t i = 0; i < level_count_; ++i) count += levels_[i].ring_count();
    return count;
  }

 private:
  using Level = BasicFifo<Atomic>;
  static constexpr std::uint32_t kFlags = 16, kNone = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::uint64_t kFlagMask = 0xffff, kClaimMask = std::uint64_t{0x1f} << 16,
                                 kVersion = std::uint64_t{1} << 21;
  static constexpr std::uint64_t flag(std::uint32_t level) { return std::uint64_t{1} << level % kFlags; }
  static constexpr std::uint64_t claim(std::uint32_t level) { return std::uint64_t{16 + level % kFlags} << 16; }

  static constexpr std::uint32_t kWordsPerLine = 8;
  struct alignas(kCacheLineBytes) Line {
    Atomic<std::uint64_t> words[kWordsPerLine];
  };
  Atomic<std::uint64_t>& shared_word(std::uint32_t index) const {
    return lines_[index / kWordsPerLine].words[index % kWordsPerLine];
  }

  /// Result of a scan from the top: the first level with a flag, and the words above it.
  struct Pass {
    std::uint32_t level = kNone;
    std::uint32_t words = 0;  ///< words in use when the scan began
    std::uint64_t versions =
        0;                   ///< sum over the words above the level's; each only grows, so equal sums mean equal words
    std::uint64_t word = 0;  ///< the level's own
  };

  Pass scan() const {
    Pass pass;
    pass.words = words_used_.load(std::memory_order_seq_cst);
    for (std::uint32_t i = pass.words; i-- > 0;) {
      const std::uint64_t word = shared_word(i).load(std::memory_order_seq_cst);  // pairs with show() and hide()
      if (const std::uint64_t flags = word & kFlagMask) {
        pass.level = i * kFlags + static_cast<std::uint32_t>(63 - std::countl_zero(flags));
        pass.word = word;
        break;
      }
      pass.versions += word / kVersion;
    }
    return pass;
  }

  /// True if no level above the pass's level can have been shown since `pass`.
  bool nothing_above(const Pass& pass) const {
    std::uint64_t versions = 0;
    const std::uint32_t own = pass.level / kFlags;
    if (shared_word(own).load(std::memory_order_seq_cst) != pass.word) return false;
    for (std::uint32_t i = own + 1; i < pass.words; ++i)
      versions += shared_word(i).load(std::memory_order_seq_cst) / kVersion;
    return versions == pass.versions && words_used_.load(std::memory_order_seq_cst) == pass.words;
  }

  /// After a push: on return the level's flag is set, and no hide can clear it without checking the level again.
  void show(std::uint32_t level) {
    const std::uint32_t index = level / kFlags;
    for (std::uint32_t used = words_used_.load(std::memory_order_seq_cst); used <= index;)
      words_used_.compare_exchange_weak(used, index + 1, std::memory_order_seq_cst);
    Atomic<std::uint64_t>& shared = shared_word(index);
    std::uint64_t word =
        shared.load(std::memory_order_seq_cst);  // after the slot's exchange: the first half of the pair
    while (!(word & flag(level)) || (word & kClaimMask) == claim(level)) {
      const std::uint64_t shown = ((word | flag(level)) & ~kClaimMask) + kVersion;
      if (shared.compare_exchange_weak(word, shown, std::memory_order_seq_cst)) return;
    }
  }

  /// Clears the flag of an empty level.
  void hide(std::uint32_t level) {
    Atomic<std::uint64_t>& shared = shared_word(level / kFlags);
    std::uint64_t word = shared.load(std::memory_order_seq_cst);
    if (!(word & kClaimMask)) {
      if (!(word & flag(level))) return;
      const std::uint64_t claimed = (word | claim(level)) + kVersion;
      if (!shared.compare_exchange_strong(word, claimed, std::memory_order_seq_cst)) return;
      word = claimed;
    } else {
      level = level / kFlags * kFlags + static_cast<std::uint32_t>((word & kClaimMask) >> 16) - 16;
    }
    typename Level::Ticket ticket;
    const bool empty = !levels_[level].peek(ticket);  // after the claim: the second half of the pair
    const std::uint64_t done = (word & ~kClaimMask & ~(empty ? flag(level) : 0)) + kVersion;
    shared.compare_exchange_strong(word, done, std::memory_order_seq_cst);
  }

  const std::uint32_t level_count_;
  const std::uint32_t slots_first_;
  const std::unique_ptr<Level[]> levels_;
  // Read by every pop and push, written when a level becomes empty or stops being so.
  const std::unique_ptr<Line[]> lines_;
  Atomic<std::uint32_t> words_used_{0};  // only grows, and only with the highest level ever used
};

using ReadyQueue = BasicReadyQueue<std::atomic>;

}  // namespace berth::broker
