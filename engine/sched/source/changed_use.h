// Kept by state: the nodes whose use changed lately, as columns of what they had left before and after. Many jobs wait
// on a full cluster, and each is tried again after the same changes: the first one gathers them from the tables, the
// others stream through these and examine only changes that cross what they request (rank/crossings.h).
//
//   rows      4 B per change: the node
//   ranges    24 B: of usable cpu, memory and disk that nobody uses, the less and the more
//   starts    1 B: the first change of those that were gathered together
//   known     16 B per node row: what it had left when it was gathered last
//
// A change says nothing, all ranges are full, where figures do not tell before or after it: an allocation there holds
// ports or cores, or a limit of allocations is reached (R-RANK-532, 533); or where nobody gathered the node before.
//
// Changes that were gathered together have one before and one after: a node that changed twice among them has both at
// the first one. So one can ask from the first of such changes only, and who wants to ask later says so: catch_up().
//
// Follows the log of the table (tables/row_log.h); keeps as many changes as half of the nodes at most. Threads: one
// worker's.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "rank/crossings.h"
#include "tables/state.h"

namespace berth::sched {

class ChangedUse {
 public:
  struct Changes {
    std::span<const tables::NodeRow> rows;  ///< a node may be there more than once
    rank::LeftRanges ranges;                ///< as many
  };

  /// The changes from `from`, of the log, up to the state. False: they are not kept, or nobody caught up there.
  [[nodiscard]] bool since(const tables::NodeTable& nodes, std::uint64_t from, Changes& out);
  /// Changes from the state on can be asked for later.
  void catch_up(const tables::NodeTable& nodes);

 private:
  struct Known {
    std::int32_t cpu_mhz, memory_mb, disk_mb;
    std::uint32_t stamp = 0;  // of now: see generation_; else it is not known
  };

  void begin(const tables::NodeTable& nodes);
  bool go_on(const tables::NodeTable& nodes);
  void forget_oldest(std::size_t count);
  void learn_all(const tables::NodeTable& nodes);
  void append(const tables::NodeTable& nodes, tables::NodeRow row);
  [[nodiscard]] Known look(const tables::NodeTable& nodes, tables::NodeRow row) const;

  std::shared_ptr<const tables::RowLog> log_;
  std::uint64_t first_ = 0, end_ = 0;            // of the log, that are in
  std::uint64_t epoch_ = 0, ready_changes_ = 0;  // of the capacities
  std::vector<tables::NodeRow> rows_, fresh_;
  std::vector<std::int32_t> least_cpu_, most_cpu_, least_memory_, most_memory_, least_disk_, most_disk_;
  std::vector<std::uint8_t> starts_;
  std::vector<Known> known_;
  std::uint32_t generation_ = 0;  // stamps are 2 * generation, + 1: figures tell
  // Changes whose node nobody had gathered before: of those gathered last, and as often as these were asked for.
  std::size_t untold_ = 0, untold_asked_ = 0;
};

}  // namespace berth::sched
