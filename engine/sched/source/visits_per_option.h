// Cache by content: estimates how many nodes a Select of a request visits, so that enough of the visiting order is
// computed at once. If few nodes fit, much of the order is needed, and extending the order later costs as much as
// computing all of it. The estimate affects speed only. Threads: one worker.
//
//   visits   4 B   visited nodes per node to be returned; 0: unknown. By number of checks (CompiledGroup::checks), one
//                  entry without and one with host volumes
#pragma once

#include <cstdint>
#include <vector>

#include "tables/job_table.h"

namespace berth::sched {

class VisitsPerOption {
 public:
  static constexpr double kUnknown = 2.5;
  [[nodiscard]] double of(const tables::CompiledGroup& group) const {
    const std::size_t at = place_of(group);
    return at < visits_.size() && visits_[at] > 0 ? visits_[at] : kUnknown;
  }
  /// Records that Selects of the group visited `visited` nodes while their limits add up to `wanted`.
  void note(const tables::CompiledGroup& group, std::uint64_t visited, std::uint64_t wanted) {
    if (group.checks == tables::kNoRow || wanted == 0) return;
    const std::size_t at = place_of(group);
    if (at >= visits_.size()) visits_.resize(at + 1, 0);
    visits_[at] = static_cast<float>(visited) / static_cast<float>(wanted);
  }
  /// The position is that of other checks from now on.
  void forget(std::uint32_t checks) {
    for (std::size_t at = 2 * std::size_t{checks}; at < visits_.size() && at / 2 == checks; ++at) visits_[at] = 0;
  }

 private:
  static std::size_t place_of(const tables::CompiledGroup& group) {
    return 2 * std::size_t{group.checks} + static_cast<std::size_t>(group.has_host_volumes);
  }
  std::vector<float> visits_;
};

}  // namespace berth::sched
