// Cache by state: which nodes changed since a state. In a worker, the feed is the only reader of the change logs of the
// node table (tables/row_log.h). A cache by node row has a NodePlace, the state of its rows, and refreshes the rows
// that the feed returns. If the feed returns nullopt, any row may have changed and the cache is filled again. That
// happens when the place is of another store, of a log that was replaced since, of a later state, or older than the
// log's ring. Nodes that joined are among the changed rows, and rows grow with NodeTable::size().
//
// Many jobs wait on a full cluster, and each is tried again after the same changes. So the feed also gathers, on
// request, the free amounts of changed nodes before and after the change, as columns. The first of these jobs gathers
// them from the tables. The others scan the columns and examine only changes that cross their request
// (rank/crossings.h).
//
//   rows      4 B per change: the node
//   ranges   24 B per change: minimum and maximum of the free cpu, memory and disk before and after
//   starts    1 B per change: 1 at the first change of a batch
//   known    16 B per node row: free amounts when the node was last gathered
//
// A change has full ranges ([INT32_MIN, INT32_MAX]) if amounts do not decide the fit before or after it: an allocation
// on the node holds ports or cores, or a limit of allocations is reached (R-RANK-532, 533). The same holds for a node
// that was not gathered before.
//
// The changes of a batch share one state before and one after. If a node changed twice in a batch, the first change has
// both. So changes can be read from the start of a batch only; a cache that will read from this state calls gather().
//
// The feed holds at most half as many changes as there are nodes, at least 128. Threads: one worker.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "rank/crossings.h"
#include "tables/job_table.h"

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
  /// True if the place is in the log of `nodes`, so that a cache can be updated by the changes alone.
  [[nodiscard]] bool follows(const tables::NodeTable& nodes) const { return log_ == log_of(nodes); }
  /// Appends the rows that changed from this place to `nodes`; a row may occur twice. False: the changes are not in the
  /// log, or there are more than `most`.
  [[nodiscard]] bool read(const tables::NodeTable& nodes, std::vector<tables::NodeRow>& out,
                          std::size_t most = std::numeric_limits<std::size_t>::max()) const {
    const std::uint64_t end = changes_of(nodes);
    return follows(nodes) && changes_ <= end && end - changes_ <= most && log_->read(changes_, end, out);
  }
  /// Position of the first log entry after this place.
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
  std::shared_ptr<const tables::RowLog> log_;  // held, so that no other log gets its address
};

class NodeFeed {
 public:
  using Rows = std::span<const tables::NodeRow>;
  struct Changes {
    Rows rows;                ///< a node may occur more than once
    rank::LeftRanges ranges;  ///< parallel to `rows`
  };

  /// Returns the rows that changed from `place` to `nodes`; a row may occur twice. Valid until the next call. nullopt:
  /// any row may have changed, or more than `most` did.
  [[nodiscard]] std::optional<Rows> since(const NodePlace& place, const tables::NodeTable& nodes,
                                          std::size_t most = std::numeric_limits<std::size_t>::max()) {
    changed_.clear();
    return place.read(nodes, changed_, most) ? std::optional(Rows(changed_)) : std::nullopt;
  }
  /// Like since(), and moves `place` to `nodes`.
  [[nodiscard]] std::optional<Rows> advance(NodePlace& place, const tables::NodeTable& nodes) {
    const std::optional<Rows> out = since(place, nodes);
    place.move_to(nodes);
    return out;
  }

  /// Returns the rows whose change of use from `place` to `nodes` may have changed whether the request fits, or which
  /// amount is short. Valid until the next call. nullopt: the changes since `place` were dropped, or gather() was not
  /// called at `place`.
  [[nodiscard]] std::optional<Rows> crossing(const NodePlace& place, const tables::NodeTable& nodes,
                                             const rank::AskedAmounts& ask);
  /// Writes all these changes with their ranges. False: as for nullopt above.
  [[nodiscard]] bool amounts_since(const NodePlace& place, const tables::NodeTable& nodes, Changes& out);
  /// Starts a batch at this state, so that later calls of crossing() can read the changes from here on.
  void gather(const tables::NodeTable& nodes);
  /// Compares the gathered amounts with `nodes` if that is the state gathered last. False: some row differs.
  [[nodiscard]] bool holds(const tables::NodeTable& nodes) const;

 private:
  friend struct MemoryAccess;
  struct Known {
    std::int32_t cpu_mhz, memory_mb, disk_mb;
    std::uint32_t stamp = 0;  // see generation_; of an earlier generation: the amounts are unknown
    friend bool operator==(const Known&, const Known&) = default;
  };

  void begin(const tables::NodeTable& nodes);
  bool go_on(const tables::NodeTable& nodes);
  void forget_oldest(std::size_t count);
  void append(const tables::NodeTable& nodes, tables::NodeRow row);
  [[nodiscard]] Known known_of(const tables::NodeTable& nodes, tables::NodeRow row) const;

  std::vector<tables::NodeRow> changed_;  // since(), crossing()
  std::vector<std::uint32_t> crossing_;   // positions of changes
  // The gathered changes.
  NodePlace end_;
  std::uint64_t first_ = 0;                      // log position of rows_[0]
  std::uint64_t epoch_ = 0, ready_changes_ = 0;  // of the node table whose capacities were used
  std::vector<tables::NodeRow> rows_, fresh_;
  std::vector<std::int32_t> least_cpu_, most_cpu_, least_memory_, most_memory_, least_disk_, most_disk_;
  std::vector<std::uint8_t> starts_;
  std::vector<Known> known_;
  std::uint32_t generation_ = 0;  // a stamp is 2 * generation, + 1 if amounts decide the fit
};

}  // namespace berth::sched
