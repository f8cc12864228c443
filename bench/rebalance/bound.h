// Lower bound on the number of nodes that stay occupied under any moves, if staying allocations do not move. A proof,
// not an estimate: no plan can leave fewer.
//
// For each part of the fleet (nodes of different parts share no job) and any weights w >= 0 of the resources: the nodes
// occupied at the end hold everything held now, so the sum of w * room over them is at least the sum of w * held. The
// fewest nodes that reach it are those with staying allocations, then the largest ones. Each resource alone gives such
// a bound, and so do mixtures; the best one per part counts. With a limit of moves, emptying a node costs as many moves
// as it has allocations, so the number of emptied nodes is at most that of the cheapest ones.
#pragma once

#include <optional>

#include "rebalance/fleet.h"

namespace berth::rebalance {

struct Bound {
  std::int64_t nodes = 0;                              ///< that must stay occupied
  std::array<std::int64_t, kResources> by_resource{};  ///< bound by each resource alone
  std::int64_t by_resources = 0;                       ///< the best of resources and mixtures, by part
  std::int64_t pinned = 0;                             ///< nodes with staying allocations
  std::optional<std::int64_t> by_moves;                ///< bound by the limit of moves
};

/// `moves`: the limit, if any. Cost: sorts the nodes once for each of 15 weightings.
[[nodiscard]] Bound lower_bound(const Fleet& fleet, std::optional<std::int64_t> moves);

}  // namespace berth::rebalance
