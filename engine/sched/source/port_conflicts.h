// Kept by state: whether running allocations collide on ports of their node (R-RANK-607), or a node has a host network
// without an address (R-RANK-618). They seldom do, and where none does, a group without ports fits where cpu, memory
// and disk are enough. The same byte says whether the cores held on the node can be left out of account (core_use.h),
// as both are read for every node that is visited.
//
//   bad   1 B per node row: kPorts, kCores
// Made from all nodes at the first update, O(port holding allocations); from one state to the next only nodes whose
// use changed are looked at again. One worker's own, like all scratch.
#pragma once

#include <cstdint>
#include <vector>

#include "sched/source/node_feed.h"

namespace berth::sched {

struct Scratch;

class PortConflicts {
 public:
  /// Looks at the snapshot's nodes as they are, without what a plan changes. Nodes whose reserved ports do not parse
  /// (NodeTable::invalid_nodes) are not counted.
  void update(const tables::Snapshot& snapshot, Scratch& scratch);
  /// Anywhere, and on one node, in that snapshot.
  [[nodiscard]] bool any() const { return bad_count_ > 0; }
  [[nodiscard]] bool at(tables::NodeRow row) const { return (bad_[row] & kPorts) != 0; }
  /// Bit mask of these. 0: the node's fit can be decided from its numeric columns.
  enum : std::uint8_t { kPorts = 1, kCores = 2 };
  [[nodiscard]] const std::uint8_t* by_row() const { return bad_.data(); }
  /// Whether update() costs what changed since the last one, not the whole cluster.
  [[nodiscard]] bool follows(const tables::Snapshot& snapshot) const { return place_.follows(snapshot.nodes); }

 private:
  friend struct MemoryAccess;
  void look_at(const tables::Snapshot& snapshot, tables::NodeRow row, Scratch& scratch);
  [[nodiscard]] bool collide(const tables::Snapshot& snapshot, tables::NodeRow row, Scratch& scratch);

  std::vector<std::uint8_t> bad_;
  std::size_t bad_count_ = 0;
  NodePlace place_;
  std::vector<tables::AllocRow> holders_;
};

}  // namespace berth::sched
