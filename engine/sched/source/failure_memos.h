// Kept by state: what Selects that found no node leave behind for the next try (failed_before.h). A memo follows the
// logs of use and of ready nodes; what it counts by node class is of one epoch of the nodes. Threads: one worker's.
#pragma once

#include <tsl/robin_map.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "base/bit_hash.h"
#include "sched/failures.h"
#include "sched/source/node_feed.h"

namespace berth::sched {

/// Which Selects a memo answers: those of one group of one job version, or of every group with the same ask.
struct FailureKey {
  static constexpr std::int64_t kNobody = std::numeric_limits<std::int64_t>::min();
  std::uint64_t number = 0;  ///< Ask::number, or of the group alone (CompiledJob::group_number); 0: none
  std::uint32_t base_set = 0;
  std::int64_t evicted = kNobody;  ///< the highest priority that a pass may evict

  [[nodiscard]] bool evicts() const { return evicted != kNobody; }
  friend bool operator==(const FailureKey&, const FailureKey&) = default;
};

struct FailureMemo {
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
  FailureKey key;            ///< no number: the memo is not in use
  std::uint64_t number = 0;  ///< of what it was made for; never used again
  NodePlace use{NodePlace::kUse}, ready{NodePlace::kReady};
  std::uint64_t job_changes = 0;     ///< JobKey::changes, whose allocations are in
  std::uint64_t static_epoch = 0;    ///< of the nodes' values that distinct properties compare
  std::vector<std::uint8_t> shorts;  ///< by node row: position in `counts`, or kRoomy
  std::vector<Short> counts;         ///< the first one is not used
  static constexpr std::uint8_t kRoomy = 255;
  std::vector<tables::NodeRow> roomy;  ///< those that pass and had room, or may have; in no order

  /// Filtered nodes by node class and reason, in the order in which a pass counts them.
  struct {
    std::uint64_t epoch = 0, kinds_left = 0;  ///< of the nodes that it is of
    std::int32_t evaluated = 0;               ///< 0: not known
    std::vector<Filtered> counts;
    tables::ClassVerdicts classes;              ///< of passes over all; empty: not known
    std::vector<std::uint32_t> classes_groups;  ///< for these groups, in order
  } filtered;

  /// False: there are too many kinds of them.
  bool enter(tables::NodeRow row, std::uint32_t node_class, std::uint32_t why, bool is_filtered) {
    std::size_t at = 1;
    while (at < counts.size() && (counts[at].node_class != node_class || counts[at].why != why)) ++at;
    if (at >= kRoomy) return false;
    if (at == counts.size()) counts.push_back({node_class, why, 0, is_filtered});
    ++counts[at].count;
    shorts[row] = static_cast<std::uint8_t>(at);
    return true;
  }
  void leave(tables::NodeRow row) {
    if (shorts[row] != 0 && shorts[row] != kRoomy) --counts[shorts[row]].count;
    shorts[row] = 0;
  }
  void enter_roomy(tables::NodeRow row) {
    shorts[row] = kRoomy;
    roomy.push_back(row);
  }
};

/// What an attempt of a job came to that planned nothing, after one placement that failed: as long as the memo of the
/// Select that failed last says so, and all else is as it was, another attempt comes to the same.
struct RetryMemo {
  std::uint64_t group_number = 0;  ///< of the job version; 0: not in use
  std::size_t memo = 0;            ///< of FailureMemos
  std::uint64_t memo_number = 0;
  std::uint64_t job_changes = 0;             ///< JobKey::changes
  std::shared_ptr<const model::Job> object;  ///< JobTable::objects
  std::shared_ptr<const tables::ColdState> surroundings;
  NodePlace ready{NodePlace::kReady};
  std::uint64_t epoch = 0, kinds_left = 0;  ///< of the nodes that `eligibility` is of
  std::vector<GroupResult> groups;          ///< but for the counts of the failure
  std::size_t failed = 0;                   ///< position of the group that did
  Eligibility eligibility;
  base::Uuid deployment;
};

class FailureMemos {
 public:
  /// Null: none.
  [[nodiscard]] FailureMemo* find(const FailureKey& key) {
    if (of_key_.empty()) return nullptr;
    const auto at = of_key_.find(key);
    return at == of_key_.end() ? nullptr : &memos_[at->second];
  }
  /// That of the key, or one to be filled in.
  FailureMemo& add(const FailureKey& key, std::size_t nodes);
  void drop(FailureMemo& memo) {
    if (memo.key.number != 0) of_key_.erase(memo.key);
    memo.key = {}, memo.number = 0;
  }

  /// Null: none.
  [[nodiscard]] const RetryMemo* retry_of(const tables::CompiledJob& job) const {
    const auto at = of_job_.find(job.group_number);
    return at == of_job_.end() ? nullptr : &retries_[at->second];
  }
  /// That of the job, or one to be filled in, which fails again as `memo` says.
  RetryMemo& add_retry(const tables::CompiledJob& job, const FailureMemo& memo);
  /// Null: it is there no longer.
  [[nodiscard]] FailureMemo* of_retry(const RetryMemo& retry) {
    FailureMemo& memo = memos_[retry.memo];
    return memo.number == retry.memo_number ? &memo : nullptr;
  }

 private:
  friend struct MemoryAccess;
  struct KeyHash {
    std::size_t operator()(const FailureKey& key) const noexcept {
      const base::BitHash hash;
      return hash(hash(key.number) ^ static_cast<std::uint64_t>(key.evicted)) + key.base_set;
    }
  };
  std::deque<FailureMemo> memos_;  // they stay where they are
  std::size_t next_ = 0;           // filled in last
  std::uint64_t numbers_ = 0;
  tsl::robin_map<FailureKey, std::size_t, KeyHash> of_key_;
  std::deque<RetryMemo> retries_;
  std::size_t next_retry_ = 0;
  tsl::robin_map<std::uint64_t, std::size_t, base::BitHash> of_job_;  // by CompiledJob::group_number
};

}  // namespace berth::sched
