// Cache by content: estimates how many nodes a Select of a request visits, so that enough of the visiting order is
// computed at once. If few nodes fit, much of the order is needed, and extending the order later costs as much as
// computing all of it. The estimate affects speed only. Threads: one worker.
//
//   looks   4 B   visited nodes per node to be returned; 0: unknown. By number of checks (CompiledGroup::checks), one
//                 entry without and one with host volumes
#pragma once

#include <cstdint>
#include <vector>

#include "tables/job_table.h"

namespace berth::sched {

class LooksPerNode {
 public:
  static constexpr double kUnknown = 2.5;
  [[nodiscard]] double of(const tables::CompiledGroup& group) const {
    const std::size_t at = place_of(group);
    return at < looks_.size() && looks_[at] > 0 ? looks_[at] : kUnknown;
  }
  /// Records that Selects of the group visited `looked` nodes while their limits add up to `wanted`.
  void note(const tables::CompiledGroup& group, std::uint64_t looked, std::uint64_t wanted) {
    if (group.checks == tables::kNoRow || wanted == 0) return;
    const std::size_t at = place_of(group);
    if (at >= looks_.size()) looks_.resize(at + 1, 0);
    looks_[at] = static_cast<float>(looked) / static_cast<float>(wanted);
  }

 private:
  static std::size_t place_of(const tables::CompiledGroup& group) {
    return 2 * std::size_t{group.checks} + static_cast<std::size_t>(group.has_host_volumes);
  }
  std::vector<float> looks_;
};

}  // namespace berth::sched
