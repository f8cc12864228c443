// Kept by content, a guess for speed alone: how far the Selects of a request had to go in the visiting order lately.
// Where few nodes fit, much of the order is wanted, and to order more later costs as much as all of it. One worker's
// own.
//
//   looks   4 B   by number of checks (CompiledGroup::checks), without host volumes and with: nodes looked at for each
//   that was to be
//                 returned; 0: unknown
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
  /// Selects of the group looked at so many nodes, and might have returned so many.
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
