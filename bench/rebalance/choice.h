// Chooses the nodes that a rebalance tries to empty, only by amounts, before the scheduler decides. A wrong choice
// costs quality, never correctness.
#pragma once

#include <optional>
#include <vector>

#include "rebalance/fleet.h"

namespace berth::rebalance {

struct Limits {
  std::optional<std::int64_t> moves;  ///< maximum number of moves
  std::optional<std::int64_t> nodes;  ///< stop after emptying this many
};

/// Positions of machines to empty, in order, such that their loads fit on the remaining occupied nodes by amounts,
/// datacenters and pools. Best fit decreasing; the best of three orders.
[[nodiscard]] std::vector<std::uint32_t> choose(const Fleet& fleet, const Limits& limits);

/// How many of the machines to empty, in this order, until the fragmentation (sim/packing.h) is at most so much by
/// amounts; all of them where it stays above.
[[nodiscard]] std::size_t enough(const Fleet& fleet, const std::vector<std::uint32_t>& sources, double fragmentation);

}  // namespace berth::rebalance
