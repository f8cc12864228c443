// Kept by state: which nodes changed since a state, the only reader of the change logs of the node table
// (tables/row_log.h) in a worker. A cache by node row has a NodePlace, the state that its rows are of, and refreshes
// the rows that the feed names. Where the feed names none, any row may have changed and the cache is filled again: the
// place is of another store, of a log that was replaced since, of a later state, or further behind than the log's ring.
// Nodes that joined are among the rows that changed, and rows grow with NodeTable::size().
//
// Many jobs wait on a full cluster, and each is tried again after the same changes. So the feed also gathers, when it
// is asked to, what changed nodes had free before and after, as columns: the first of these jobs gathers them from the
// tables, the others stream through them and examine only changes that cross what they request (rank/crossings.h).
//
//   rows      4 B per change: the node
//   ranges    24 B: of usable cpu, memory and disk that nobody uses, the less and the more
//   starts    1 B: the first change of those that were gathered together
//   known     16 B per node row: what it had left when it was gathered last
//
// A change says nothing, all ranges are full, where amounts do not tell before or after it: an allocation there holds
// ports or cores, or a limit of allocations is reached (R-RANK-532, 533); or where the node was not gathered before.
//
// Changes that were gathered together have one before and one after: a node that changed twice among them has both at
// the first one. So one can ask from the first of such changes only; a cache that will ask later calls gather() now.
//
// Keeps as many changes as half of the nodes at most. Threads: one worker's.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "rank/crossings.h"
#include "tables/state.h"

namespace berth::sched {

/// A position in one of the logs.
class NodePlace {
 public:
  enum Log : std::uint8_t { kUse, kReady };  ///< NodeStatic::use_log, ready_log
  explicit NodePlace(Log log = kUse) : which_(log) {}

  void move_to(const tables::NodeTable& nodes) {
    if (!follows(nodes)) log_ = log_of(nodes);
    changes_ = changes_of(nodes);
  }
  [[nodiscard]] bool is_at(const tables::NodeTable& nodes) const {
    return follows(nodes) && changes_ == changes_of(nodes);
  }
  /// Whether the log is the state's, so that a cache may cost what changed since and not the whole cluster.
  [[nodiscard]] bool follows(const tables::NodeTable& nodes) const { return log_ == log_of(nodes); }
  /// Appends the rows that changed from there to `nodes`, some of them twice. False: any may have, or more than `most`.
  [[nodiscard]] bool read(const tables::NodeTable& nodes, std::vector<tables::NodeRow>& out,
                          std::size_t most = std::numeric_limits<std::size_t>::max()) const {
    const std::uint64_t end = changes_of(nodes);
    return follows(nodes) && changes_ <= end && end - changes_ <= most && log_->read(changes_, end, out);
  }
  /// Position of the first entry behind it.
  [[nodiscard]] std::uint64_t changes() const { return changes_; }

 private:
  [[nodiscard]] const std::shared_ptr<tables::RowLog>& log_of(const tables::NodeTable& nodes) const {
    return which_ == kUse ? nodes.fixed->use_log : nodes.fixed->ready_log;
  }
  [[nodiscard]] std::uint64_t changes_of(const tables::NodeTable& nodes) const {
    return which_ == kUse ? nodes.use_changes : nodes.ready_changes;
  }
  Log which_;
  std::uint64_t changes_ = 0;
  std::shared_ptr<const tables::RowLog> log_;  // pinned, so that its address stays its own
};

class NodeFeed {
 public:
  using Rows = std::span<const tables::NodeRow>;
  struct Changes {
    Rows rows;                ///< a node may be there more than once
    rank::LeftRanges ranges;  ///< as many
  };

  /// The rows that changed from `place` to `nodes`, some of them twice, until the next call. None: any may have, or
  /// more than `most`.
  [[nodiscard]] std::optional<Rows> since(const NodePlace& place, const tables::NodeTable& nodes,
                                          std::size_t most = std::numeric_limits<std::size_t>::max()) {
    changed_.clear();
    return place.read(nodes, changed_, most) ? std::optional(Rows(changed_)) : std::nullopt;
  }
  /// The same; the cache is filled for `nodes` then.
  [[nodiscard]] std::optional<Rows> advance(NodePlace& place, const tables::NodeTable& nodes) {
    const std::optional<Rows> out = since(place, nodes);
    place.move_to(nodes);
    return out;
  }

  /// Of the changes of use from `place` to `nodes`, the rows that may no longer fail the ask for lack of the same
  /// amount; until the next call. None: changes are not kept from there, or gather() was not called there.
  [[nodiscard]] std::optional<Rows> crossing(const NodePlace& place, const tables::NodeTable& nodes,
                                             const rank::LeftAsk& ask);
  /// Those changes with what was free. False: as above.
  [[nodiscard]] bool amounts_since(const NodePlace& place, const tables::NodeTable& nodes, Changes& out);
  /// Amounts of changes from the state on can be asked for later.
  void gather(const tables::NodeTable& nodes);
  /// Compares what it gathered with the nodes, where they are those gathered last; false: some row differs.
  [[nodiscard]] bool holds(const tables::NodeTable& nodes) const;

 private:
  friend struct MemoryAccess;
  struct Known {
    std::int32_t cpu_mhz, memory_mb, disk_mb;
    std::uint32_t stamp = 0;  // of now: see generation_; else it is not known
    friend bool operator==(const Known&, const Known&) = default;
  };

  void begin(const tables::NodeTable& nodes);
  bool go_on(const tables::NodeTable& nodes);
  void forget_oldest(std::size_t count);
  void gather_all(const tables::NodeTable& nodes);
  void append(const tables::NodeTable& nodes, tables::NodeRow row);
  [[nodiscard]] Known known_of(const tables::NodeTable& nodes, tables::NodeRow row) const;

  std::vector<tables::NodeRow> changed_;  // since(), crossing()
  std::vector<std::uint32_t> crossing_;   // positions of changes
  // What was gathered.
  NodePlace end_;
  std::uint64_t first_ = 0;                      // of the log, that is kept
  std::uint64_t epoch_ = 0, ready_changes_ = 0;  // of the capacities
  std::vector<tables::NodeRow> rows_, fresh_;
  std::vector<std::int32_t> least_cpu_, most_cpu_, least_memory_, most_memory_, least_disk_, most_disk_;
  std::vector<std::uint8_t> starts_;
  std::vector<Known> known_;
  std::uint32_t generation_ = 0;  // stamps are 2 * generation, + 1: amounts tell
  // Changes whose node was not gathered before: of those gathered last, and as often as these were asked for.
  std::size_t untold_ = 0, untold_asked_ = 0;
};

}  // namespace berth::sched
