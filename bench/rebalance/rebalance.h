// `berth rebalance`: which allocations to move so that nodes become empty.
//
//   choose()      which nodes could be emptied, by amounts alone (choice.h)
//   a pass        a living cluster (server, leader, clients) makes the moves as an operator would: nodes become
//                 ineligible, then allocations are stopped one after the other, and the scheduler places each again
//   lower_bound() how many nodes must stay occupied whatever moves (bound.h)
//
// A pass in which the scheduler refuses a move is repeated on a fresh cluster without the nodes it was for, so that
// what is printed is always one whole pass without a refusal. No time goes by in it: an allocation that is stopped
// still holds its room, on a node that takes nothing.
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
  bool move_batch = false;
};

struct NodeName {
  std::string id, name;
};
struct Move {
  std::string alloc_id, alloc, job, name_space;
  NodeName from, to;
  double gain = 0;  ///< nodes emptied per move: 1 / allocations of the node it leaves
};
/// A node that amounts alone would let go, and the scheduler does not.
struct Refusal {
  NodeName node;
  std::string alloc, job, reasons;
};
struct Plan {
  std::int64_t nodes = 0, occupied_before = 0, occupied_after = 0;
  std::int64_t movable = 0;
  std::array<std::int64_t, kStaysNames.size()> stays{};
  Bound bound;
  std::vector<NodeName> emptied;  ///< in order
  std::vector<NodeName> idle;     ///< empty before, and eligible: they become ineligible first, so that they stay empty
  std::vector<Move> moves;        ///< in order
  std::vector<Refusal> refusals;
  std::int64_t passes = 0;

  /// How much more than the bound stays occupied, of the bound.
  [[nodiscard]] double gap() const {
    return bound.nodes > 0 ? static_cast<double>(occupied_after - bound.nodes) / static_cast<double>(bound.nodes) : 0;
  }
};

[[nodiscard]] Plan make_plan(serve::Start start, const Settings& settings);

}  // namespace berth::rebalance
