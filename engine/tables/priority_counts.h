// The number of allocations on a node by their jobs' priority; NodeUse has it only for the lowest one. When the last of
// these ends, the next priority is found here, without iterating over all running allocations.
//
// Up to five priorities, ascending; kNoPriority, the last, is that of unknown jobs. A node with more priorities is not
// listed until it is recounted.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tables/eviction_levels.h"

namespace berth::tables {

/// Half a cache line.
class PriorityCounts {
  static constexpr std::size_t kListed = 5;

 public:
  struct Count {
    std::int32_t priority = kNoPriority;
    std::uint32_t allocs = 0;
  };
  [[nodiscard]] bool listed() const { return !unlisted_; }
  /// The lowest priority of known jobs and its number of allocations; {kNoPriority, 0} if there is none.
  [[nodiscard]] Count least() const {
    return used_ == 0 || priorities_[0] == kNoPriority ? Count{} : Count{priorities_[0], counts_[0]};
  }
  /// The highest priority; -kNoPriority: nothing runs.
  [[nodiscard]] std::int32_t most() const { return used_ == 0 ? -kNoPriority : priorities_[used_ - 1u]; }

  /// True if the counts are equal.
  [[nodiscard]] bool same(const PriorityCounts& other) const {
    if (used_ != other.used_ || unlisted_ != other.unlisted_) return false;
    for (std::size_t i = 0; i < used_; ++i)
      if (priorities_[i] != other.priorities_[i] || counts_[i] != other.counts_[i]) return false;
    return true;
  }

  void add(std::int32_t priority) {
    const std::size_t at = place(priority);
    if (at == used_ || priorities_[at] != priority) {
      if (used_ == kListed) return void(unlisted_ = true);
      for (std::size_t i = used_; i > at; --i) priorities_[i] = priorities_[i - 1], counts_[i] = counts_[i - 1];
      priorities_[at] = priority, counts_[at] = 0;
      ++used_;
    }
    if (++counts_[at] == 0) unlisted_ = true;
  }
  void remove(std::int32_t priority) {
    const std::size_t at = place(priority);
    if (unlisted_ || at == used_ || priorities_[at] != priority) return void(unlisted_ = true);
    if (--counts_[at] != 0) return;
    for (std::size_t i = at + 1; i < used_; ++i) priorities_[i - 1] = priorities_[i], counts_[i - 1] = counts_[i];
    --used_;
  }

 private:
  [[nodiscard]] std::size_t place(std::int32_t priority) const {
    std::size_t at = 0;
    while (at < used_ && priorities_[at] < priority) ++at;
    return at;
  }

  std::array<std::int32_t, kListed> priorities_{};
  std::array<std::uint16_t, kListed> counts_{};
  std::uint8_t used_ = 0;
  bool unlisted_ = false;
};

static_assert(sizeof(PriorityCounts) == 32);

}  // namespace berth::tables
