// Kept by state: the result of a request for cpu, memory and disk on each node that no plan touches. Requests come
// again from evaluation to evaluation, and most nodes stay as they were. A Select's preparation reads 8 B per node
// then, instead of the node's class, use and capacity.
//
//   of_row   8 B   per node row, as rank::Known; kUnknown: nobody looked, or the node changed since
//
// The node feed names the rows that changed, registrations included; a verdict of a kind of node is right for ever. The
// first time an ask is met it is only noted: many come once. One worker's own, like all scratch.
#pragma once

#include <cstdint>
#include <vector>

#include "rank/known.h"
#include "rank/score_fit.h"
#include "sched/source/node_feed.h"

namespace berth::sched {

class AskScores {
 public:
  /// What is known of the ask on such nodes, by row, to be read and written until the next call. Null: nothing, or to
  /// find out costs more than it saves on so many looks at nodes.
  [[nodiscard]] std::uint64_t* find(NodeFeed& feed, const tables::NodeTable& nodes, const tables::Ask& ask,
                                    rank::FitAlgorithm algorithm, std::size_t looks);

 private:
  friend struct MemoryAccess;
  struct Table {
    std::uint64_t ask = 0;  // Ask::number
    rank::FitAlgorithm algorithm = rank::FitAlgorithm::binpack;
    std::uint64_t used = 0;  // the last time
    NodePlace place;
    std::vector<std::uint64_t> of_row;  // empty: the ask was met once
  };
  static bool follow(Table& table, NodeFeed& feed, const tables::NodeTable& nodes, std::size_t looks);

  std::vector<Table> tables_;
  std::uint64_t finds_ = 0;
};

}  // namespace berth::sched
