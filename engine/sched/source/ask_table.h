// Cache by state: the result of a request on each node that neither the plan nor the job's own allocations touch.
// Selects of all jobs with equal requests share a table. A Select that visits nodes reads 8 B per node instead of the
// node's class, use and capacity. A Select that is tried again reads which nodes have room and how many have none,
// without visiting the others.
//
//   of_row   8 B   per node row, as rank::Known
//   counts  16 B   per (node class, reason): number of nodes without room
//   open     4 B   if listed: every row that has or may have room, and some that have none; a row may occur twice
//
// A table follows the node feed. When a node changes, its entry is cleared, except for results that do not depend on
// its use: a failed check, a missing volume, a property value that is taken. Where the feed has the node's free amounts
// before and after the change, a shortage of the same amount is retained as well. The first time a request occurs it is
// only noted, as many requests occur once.
//
// The tables of a worker take at most 64 MiB, except that four are always allowed. A new table replaces one that was
// not used recently. Threads: one worker.
#pragma once

#include <tsl/robin_map.h>

#include <algorithm>
#include <array>
#include <deque>
#include <limits>
#include <vector>

#include "base/bit_hash.h"
#include "rank/known.h"
#include "rank/score_fit.h"
#include "sched/source/node_feed.h"
#include "tables/class_verdict.h"

namespace berth::sched {

/// Identifies the Selects that a table answers: those of one group of one job version, or of all groups with an equal
/// request.
struct AskKey {
  static constexpr std::int64_t kNoEviction = std::numeric_limits<std::int64_t>::min();
  std::uint64_t number = 0;    ///< Ask::number, or of the group alone (CompiledJob::group_number); 0: none
  std::uint64_t base_set = 0;  ///< tables::BaseSet::number
  rank::FitAlgorithm algorithm = rank::FitAlgorithm::binpack;
  std::int64_t evicted = kNoEviction;  ///< the highest priority that a pass may evict; kNoEviction: none

  [[nodiscard]] bool evicts() const { return evicted != kNoEviction; }
  friend bool operator==(const AskKey&, const AskKey&) = default;
};

struct AskTable {
  /// Number of nodes of a class that have no room for the same reason.
  struct Short {
    std::uint32_t node_class = 0, why = 0;
    std::int32_t count = 0;
    bool filtered = false;  ///< the node itself is filtered, `why` is the reason; else `why` is the exhausted dimension
  };
  /// Number of nodes of a class that are filtered for the same reason.
  struct Filtered {
    std::uint32_t node_class = 0, reason = 0;
    std::int32_t count = 0;
    bool by_job = false;  ///< a constraint of the job, not of the group, fails
  };
  static constexpr std::size_t kKinds = 255;  ///< most entries of `counts`

  AskKey key;  ///< number 0: the table is not in use
  NodePlace use{NodePlace::kUse}, ready{NodePlace::kReady};
  std::vector<std::uint64_t> of_row;
  std::vector<Short> counts;
  std::vector<tables::NodeRow> open;
  bool lists_open = false;
  bool used = false;               ///< used since it was last considered for replacement
  std::uint64_t job_changes = 0;   ///< JobKey::changes up to which the job's allocations are included
  std::uint64_t static_epoch = 0;  ///< NodeTable::static_epoch of the values that distinct properties compare

  /// Filtered nodes by node class and reason, in the order in which a pass counts them.
  struct {
    std::uint64_t epoch = 0, kinds_left = 0;  ///< of the node table for which the counts are valid
    std::int32_t evaluated = 0;               ///< number of ready nodes; 0: not computed
    std::vector<Filtered> counts;
    tables::ClassVerdicts classes;              ///< class verdicts of passes over all nodes; empty: unknown
    std::vector<std::uint32_t> classes_groups;  ///< the groups of `classes`, in order
  } filtered;

  /// Sets the entry of every node to `known`.
  void fill(const tables::NodeTable& nodes, std::uint64_t known);
  /// Updates the table to the state of `nodes`. False, and the table stays at its state: more than `most` rows changed,
  /// or the feed does not have the changes.
  [[nodiscard]] bool follow(NodeFeed& feed, const tables::NodeTable& nodes, const tables::CompiledGroup& group,
                            bool distinct_hosts, std::size_t most);
  /// Records that a node, which passes the checks, has no room. If `counts` is full, the node stays open.
  void enter(tables::NodeRow row, std::uint32_t node_class, std::uint32_t why, bool is_filtered);
  [[nodiscard]] const Short& why(std::uint64_t known) const { return counts[rank::Known::detail(known)]; }
  /// Clears the results that a change of the node's use may have changed.
  void forget_used(tables::NodeRow row);
  void unlist() { lists_open = false, open.clear(); }
  /// Beyond this number of changes, visiting all nodes is cheaper. The minimum, for small clusters, is the number of
  /// changes that one batch of client reports makes.
  [[nodiscard]] static std::size_t changes_most(const tables::NodeTable& nodes) {
    return std::max<std::size_t>(nodes.size() / 4, 64);
  }

 private:
  void forget(tables::NodeRow row, std::uint64_t known);
};

class AskTables {
 public:
  /// Returns the table of `key`; null: there is none.
  [[nodiscard]] AskTable* find(const AskKey& key) {
    if (of_key_.empty()) return nullptr;
    const auto at = of_key_.find(key);
    if (at == of_key_.end()) return nullptr;
    tables_[at->second].used = true;
    return &tables_[at->second];
  }
  /// Returns the table of `key`, or a new one to be filled. `nodes` is the number of node rows.
  AskTable& add(const AskKey& key, std::size_t nodes);
  /// Like add() if the key has a table or was noted recently; otherwise notes the key and returns null.
  [[nodiscard]] AskTable* find_or_note(const AskKey& key, std::size_t nodes);

 private:
  friend struct MemoryAccess;
  struct KeyHash {
    std::size_t operator()(const AskKey& key) const noexcept {
      const base::BitHash hash;
      return hash(hash(key.number) ^ static_cast<std::uint64_t>(key.evicted)) + key.base_set;
    }
  };
  std::deque<AskTable> tables_;  // stable addresses
  std::size_t next_ = 0;         // the last one replaced; the search for the next starts behind it
  tsl::robin_map<AskKey, std::size_t, KeyHash> of_key_;
  std::array<AskKey, 16> noted_;  // the latest keys that occurred once
  std::size_t next_noted_ = 0;
};

}  // namespace berth::sched
