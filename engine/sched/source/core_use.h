// Caches nothing. Which cores of a node nobody holds, told by what a group that asks for so many of them gets there.
// What is held is a column of the state, and what there are is in the node's CoreTable (tables/held_cores.h); where one
// of them does not tell, the allocations and the topology are looked at. One worker's own, like all scratch.
#pragma once

#include <cstdint>
#include <vector>

#include "tables/state.h"

namespace berth::sched {

/// What a node gives: the speed of the first free cores, or why it gives none.
struct CoreOffer {
  std::uint32_t mhz = 0;
  bool too_few = false;  ///< R-RANK-641
  bool refused = false;  ///< one of them is reserved, which the fit notices (R-RANK-524)
  bool unknown = false;  ///< has to be found out in the general way
};

class CoreUse {
 public:
  /// Whether the cores held on the node leave the fit of others to figures.
  [[nodiscard]] bool held_well(const tables::Snapshot& snapshot, tables::NodeRow row);
  /// What a node gives where `more` are held beside what the state has; unknown where its cores are not held well.
  [[nodiscard]] CoreOffer offer(const tables::Snapshot& snapshot, tables::NodeRow row, std::uint64_t cores,
                                const std::vector<std::uint16_t>& more = {});

 private:
  bool collect(const tables::Snapshot& snapshot, tables::NodeRow row);
  [[nodiscard]] CoreOffer first_free(const tables::NodeSpec& spec, std::uint64_t cores);

  std::vector<std::uint16_t> taken_;  // on the node under way, ascending
  std::vector<std::uint16_t> given_;  // of its free ones, likewise
};

}  // namespace berth::sched
