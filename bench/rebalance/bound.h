// How many nodes must stay occupied, whatever moves, as long as what stays on its node stays there. A proof, not an
// estimate: no plan can leave fewer.
//
// For each part of the fleet (nodes of different parts share no job) and any weights w >= 0 of the resources: the nodes
// that end up occupied hold all that is held now, so the sum of w * room over them is at least the sum of w * held. No
// fewer nodes reach it than the largest ones do, those that something stays on being counted first. Each resource alone
// gives such a bound, and so do mixtures of them; the best of each part counts. With a limit of moves, a node that is
// emptied costs as many as it has allocations, so the number of nodes emptied is at most that of the cheapest ones.
#pragma once

#include <optional>

#include "rebalance/fleet.h"

namespace berth::rebalance {

struct Bound {
  std::int64_t nodes = 0;                              ///< that must stay occupied
  std::array<std::int64_t, kResources> by_resource{};  ///< what each resource proves alone
  std::int64_t by_resources = 0;                       ///< the best of resources and mixtures, by part
  std::int64_t pinned = 0;                             ///< nodes that something stays on
  std::optional<std::int64_t> by_moves;                ///< what the limit of moves proves
};

/// `moves`: the limit, if there is one. Sorts the nodes once for each of 15 weightings.
[[nodiscard]] Bound lower_bound(const Fleet& fleet, std::optional<std::int64_t> moves);

}  // namespace berth::rebalance
