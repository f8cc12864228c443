// Caches nothing: reuses memory only. The cores that a group would get on a node, from the column of held cores and
// the node's CoreTable (tables/held_cores.h), or from its allocations and its topology where these are unusable.
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
  /// What the node gives while `more` are held in addition to those of the state; unknown where kCoresIrregular is set.
  [[nodiscard]] CoreOffer offer(const tables::Snapshot& snapshot, tables::NodeRow row, std::uint64_t cores,
                                const std::vector<std::uint16_t>& more = {});

 private:
  void collect(const tables::Snapshot& snapshot, tables::NodeRow row);
  [[nodiscard]] CoreOffer first_free(const tables::NodeSpec& spec, std::uint64_t cores);

  std::vector<std::uint16_t> taken_;  // on the node under way, ascending
  std::vector<std::uint16_t> given_;  // of its free ones, likewise
};

}  // namespace berth::sched
