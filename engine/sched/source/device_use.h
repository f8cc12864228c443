// Kept by state: which device instances the allocations of a node use. Entering them by their IDs is most of what
// a group with devices costs on a node that is looked at, and few nodes change between two looks.
//
//   counts   4 B per healthy instance of a node that was looked at, in the order of its DeviceAccounter
//   free     4 B per device group: how many of these nobody uses, which is all that most looks ask for
// From one state to the next what is known of nodes whose use changed is dropped. One worker's own, like all scratch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rank/devices.h"
#include "sched/source/use_follower.h"
#include "tables/state.h"

namespace berth::sched {

class DeviceUse {
 public:
  /// Marks in `unused`, an accounter of the node's devices, what is used in that state; false when it is not known.
  [[nodiscard]] bool load(const tables::Snapshot& snapshot, tables::NodeRow row, rank::DeviceAccounter& unused);
  /// How many instances of each of its device groups nobody uses, as DeviceAccounter::groups() has them; empty: it is
  /// not known, or it has none. Until the next call.
  [[nodiscard]] std::span<const std::uint32_t> free(const tables::Snapshot& snapshot, tables::NodeRow row);
  /// Remembers it. The accounter must hold what load() would have marked, and nothing of a plan.
  void keep(tables::NodeRow row, const rank::DeviceAccounter& used);

 private:
  void follow(const tables::Snapshot& snapshot);

  struct OfNode {
    bool known = false;
    std::vector<std::uint32_t> counts, free;
  };
  std::vector<OfNode> nodes_;  // by node row
  UseFollower follower_;
};

}  // namespace berth::sched
