// Kept by state: what a request comes to on each node that neither the plan nor the job's own allocations touch.
// Selects of all jobs that request the same share a table: one that looks at nodes reads 8 B of each instead of its
// class, use and capacity, and one that is tried again reads who has room, and counts who has none, without a look at
// the others.
//
//   of_row   8 B   per node row, as rank::Known
//   counts  12 B   per (node class, why a node does not do)
//   open     4 B   if listed: all rows that have room or may, and others; some of them twice
//
// A table follows the node feed. What is known of a node that changes is forgotten, but for what its use cannot change:
// that it fails a check, lacks a volume, has a value that is taken; and where the feed tells what nodes have free, that
// it is short of what it was short of. The first time an ask is met it is only noted, as many come once.
//
// Tables of a worker take 64 MiB at most, or are four; one that was not used lately goes. Threads: one worker's.
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

/// Which Selects a table answers: those of one group of one job version, or of every group with the same ask.
struct AskKey {
  static constexpr std::int64_t kNobody = std::numeric_limits<std::int64_t>::min();
  std::uint64_t number = 0;  ///< Ask::number, or of the group alone (CompiledJob::group_number); 0: none
  std::uint32_t base_set = 0;
  rank::FitAlgorithm algorithm = rank::FitAlgorithm::binpack;
  std::int64_t evicted = kNobody;  ///< the highest priority that a pass may evict

  [[nodiscard]] bool evicts() const { return evicted != kNobody; }
  friend bool operator==(const AskKey&, const AskKey&) = default;
};

struct AskTable {
  /// Nodes of a class that do not do for one reason.
  struct Short {
    std::uint32_t node_class = 0, why = 0;
    std::int32_t count = 0;
    bool filtered = false;  ///< for what the node itself holds; else the dimension is exhausted
  };
  /// Nodes of a class that are filtered for one reason.
  struct Filtered {
    std::uint32_t node_class = 0, reason = 0;
    std::int32_t count = 0;
    bool by_job = false;  ///< by a constraint of the job
  };
  static constexpr std::size_t kKinds = 255;  ///< of counts, at most

  AskKey key;  ///< no number: the table is not in use
  NodePlace use{NodePlace::kUse}, ready{NodePlace::kReady};
  std::vector<std::uint64_t> of_row;
  std::vector<Short> counts;
  std::vector<tables::NodeRow> open;
  bool lists_open = false;
  bool used = false;               ///< since it last might have gone
  std::uint64_t job_changes = 0;   ///< JobKey::changes, whose allocations are in
  std::uint64_t static_epoch = 0;  ///< of the nodes' values that distinct properties compare

  /// Filtered nodes by node class and reason, in the order in which a pass counts them.
  struct {
    std::uint64_t epoch = 0, kinds_left = 0;  ///< of the nodes that it is of
    std::int32_t evaluated = 0;               ///< 0: not known
    std::vector<Filtered> counts;
    tables::ClassVerdicts classes;              ///< of passes over all; empty: not known
    std::vector<std::uint32_t> classes_groups;  ///< for these groups, in order
  } filtered;

  /// So much is known of every node.
  void fill(const tables::NodeTable& nodes, std::uint64_t known);
  /// Brings the table to the nodes. False, and it stays behind: more than `most` changed, or the feed does not tell.
  [[nodiscard]] bool follow(NodeFeed& feed, const tables::NodeTable& nodes, const tables::CompiledGroup& group,
                            bool distinct_hosts, std::size_t most);
  /// The node, which passes the checks, has no room. Where there are too many kinds of those, it stays open.
  void enter(tables::NodeRow row, std::uint32_t node_class, std::uint32_t why, bool is_filtered);
  [[nodiscard]] const Short& why(std::uint64_t known) const { return counts[rank::Known::detail(known)]; }
  /// After a change of the node's use.
  void forget_used(tables::NodeRow row);
  void unlist() { lists_open = false, open.clear(); }
  /// Beyond so many changes a look at all nodes is cheaper; on the smallest cluster, as many as a batch of reports from
  /// clients makes.
  [[nodiscard]] static std::size_t changes_most(const tables::NodeTable& nodes) {
    return std::max<std::size_t>(nodes.size() / 4, 64);
  }

 private:
  void forget(tables::NodeRow row, std::uint64_t known);
};

class AskTables {
 public:
  /// Null: none.
  [[nodiscard]] AskTable* find(const AskKey& key) {
    if (of_key_.empty()) return nullptr;
    const auto at = of_key_.find(key);
    if (at == of_key_.end()) return nullptr;
    tables_[at->second].used = true;
    return &tables_[at->second];
  }
  /// That of the key, or an unfilled one.
  AskTable& add(const AskKey& key, std::size_t nodes);
  /// The same for an ask that was met before, lately; else null.
  [[nodiscard]] AskTable* find_or_note(const AskKey& key, std::size_t nodes);

 private:
  friend struct MemoryAccess;
  struct KeyHash {
    std::size_t operator()(const AskKey& key) const noexcept {
      const base::BitHash hash;
      return hash(hash(key.number) ^ static_cast<std::uint64_t>(key.evicted)) + key.base_set;
    }
  };
  std::deque<AskTable> tables_;  // they stay where they are
  std::size_t next_ = 0;         // may go next
  tsl::robin_map<AskKey, std::size_t, KeyHash> of_key_;
  std::array<AskKey, 16> noted_;  // met once, the latest ones
  std::size_t next_noted_ = 0;
};

}  // namespace berth::sched
