// `berth rebalance`: finds allocations to move so that nodes become empty.
//
//   choose()      chooses nodes to empty, only by amounts (choice.h)
//   a pass        a simulated cluster (server, leader, clients) makes the moves like an operator: nodes become
//                 ineligible, then allocations are stopped one after the other, and the scheduler places each again
//   lower_bound() number of nodes that stay occupied under any moves (bound.h)
//
// A pass with refused moves is repeated on a fresh cluster without their nodes, and one that leaves more fragmentation
// than wanted with more nodes. So the result is always one complete pass without refusals. The clock does not advance
// in a pass: a stopped allocation still holds its resources, on a node that accepts nothing.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "rebalance/bound.h"
#include "rebalance/choice.h"
#include "serve/start.h"

namespace berth::rebalance {

struct Settings {
  Limits limits;
  std::optional<double> fragmentation;  ///< empty no more nodes once it is at most so much (sim/packing.h)
  bool move_batch = false;
};

struct NodeName {
  std::string id, name;
};
struct Move {
  std::string alloc_id, alloc, job, name_space;
  NodeName from, to;
  double gain = 0;  ///< nodes emptied per move: 1 / allocations of the source node
};
/// A node that could be emptied by amounts, but not by the scheduler.
struct Refusal {
  NodeName node;
  std::string alloc, job, reasons;
};
struct Plan {
  std::int64_t nodes = 0, occupied_before = 0, occupied_after = 0;
  std::int64_t movable = 0;
  std::array<std::int64_t, kStaysNames.size()> stays{};
  double fragmentation_before = 0, fragmentation_after = 0;  ///< of the mean request (sim/packing.h), system jobs apart
  sim::Amounts mean_request;                                 ///< of the allocations that may move
  Bound bound;
  std::vector<NodeName> emptied;  ///< in order
  std::vector<NodeName> idle;     ///< empty before and eligible; made ineligible first, so that they stay empty
  std::vector<Move> moves;        ///< in order
  std::vector<Refusal> refusals;
  std::int64_t passes = 0;

  /// Occupied nodes above the bound, relative to the bound.
  [[nodiscard]] double gap() const {
    return bound.nodes > 0 ? static_cast<double>(occupied_after - bound.nodes) / static_cast<double>(bound.nodes) : 0;
  }
};

[[nodiscard]] Plan make_plan(serve::Start start, const Settings& settings);

}  // namespace berth::rebalance
