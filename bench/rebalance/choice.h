// Which nodes a rebalance tries to empty: found with amounts alone, before the scheduler decides. What it gets wrong
// costs quality, never correctness.
#pragma once

#include <optional>
#include <vector>

#include "rebalance/fleet.h"

namespace berth::rebalance {

struct Limits {
  std::optional<std::int64_t> moves;  ///< at most
  std::optional<std::int64_t> nodes;  ///< stop when so many are emptied
};

/// Positions of machines, in the order in which they are emptied, such that their loads fit on the occupied nodes that
/// remain, as far as amounts, datacenters and pools go. Best fit decreasing; the best of three orders.
[[nodiscard]] std::vector<std::uint32_t> choose(const Fleet& fleet, const Limits& limits);

}  // namespace berth::rebalance
