// Caches nothing: reuses memory only. The cores that a group would get on a node, from the column of held cores and
// the node's CoreTable (tables/held_cores.h), or from its allocations and its topology where these are unusable.
#pragma once

#include <cstdint>
#include <vector>

#include "tables/state.h"

namespace berth::sched {

/// The cores that a request would get on a node: the speed of the first free ones, or why there are none.
struct CoreOffer {
  std::uint32_t mhz = 0;
  bool too_few = false;  ///< R-RANK-641
  bool refused = false;  ///< one of the cores is reserved, so the fit fails (R-RANK-524)
  bool unknown = false;  ///< the general source has to decide
};

class CoreUse {
 public:
  /// Returns the offer while the cores `more` are held in addition to those of the state. `unknown` where
  /// kCoresIrregular is set.
  [[nodiscard]] CoreOffer offer(const tables::Snapshot& snapshot, tables::NodeRow row, std::uint64_t cores,
                                const std::vector<std::uint16_t>& more = {});

 private:
  void collect(const tables::Snapshot& snapshot, tables::NodeRow row);
  [[nodiscard]] CoreOffer first_free(const tables::NodeSpec& spec, std::uint64_t cores);

  std::vector<std::uint16_t> taken_;  // held cores of the current node, ascending
  std::vector<std::uint16_t> given_;  // the cores the request would get, ascending
};

}  // namespace berth::sched
