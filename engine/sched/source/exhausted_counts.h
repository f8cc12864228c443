// Counts the entries that a Select visited and that have no room, or fail a distinct_property with the current plan.
#pragma once

#include <bit>

#include "sched/source/passing_nodes.h"
#include "sched/stack/select_parts.h"

namespace berth::sched {

class ExhaustedCounts : Source {
 public:
  ExhaustedCounts(SelectParts& parts, const PassingNodes& nodes) : Source(parts), nodes_(nodes) {}

  /// Starts a Select.
  void start() {
    windows_.clear();
    counts_.exhausted = 0;
  }
  /// Records exhausted entries: bit i is entry first + i. Returns their number.
  int note(std::uint32_t first, std::uint64_t entries) {
    const int count = std::popcount(entries);
    counts_.exhausted += count;
    windows_.push_back({first, entries});
    return count;
  }
  /// Counts the recorded entries by class and dimension.
  void count();

 private:
  /// Entries first + i, as bits.
  struct Window {
    std::uint32_t first;
    std::uint64_t entries;
  };
  void count(std::uint32_t entry);

  const PassingNodes& nodes_;
  std::vector<Window> windows_;  // of the current Select, in the order of its visits
  SelectCounts::Tally classes_, dimensions_;
};

}  // namespace berth::sched
