// Kept by state: what Selects that found no node leave behind for the next try (failed_before.h). Threads: one
// worker's.
#pragma once

#include <tsl/robin_map.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/bit_hash.h"
#include "sched/failures.h"
#include "sched/source/node_feed.h"

namespace berth::sched {

struct FailureMemo {
  struct Short {
    std::uint32_t node_class = 0, why = 0;
    std::int32_t count = 0;
    bool filtered = false;  ///< for what the node itself holds; else the dimension is exhausted
  };
  /// Who is filtered of a node class for one reason.
  struct Filtered {
    std::uint32_t node_class = 0, reason = 0;
    std::int32_t count = 0;
    bool by_job = false;  ///< by a constraint of the job
  };
  std::shared_ptr<const model::Job> job;  ///< pinned, so that it stays its own; null: a memo of nobody
  std::uint32_t group = 0;                ///< position in its list; + kEvicting: of the pass that may evict
  NodePlace use{NodePlace::kUse}, ready{NodePlace::kReady};
  std::uint64_t job_changes = 0;     ///< JobKey::changes, whose allocations are in
  std::uint64_t static_epoch = 0;    ///< of the nodes' values that distinct properties compare
  std::vector<std::uint8_t> shorts;  ///< by node row: position in `counts`, or kRoomy
  std::vector<Short> counts;         ///< the first one is of nobody
  static constexpr std::uint8_t kRoomy = 255;
  static constexpr std::uint32_t kEvicting = 1U << 31;
  std::vector<tables::NodeRow> roomy;  ///< those that pass and had room, or may have; in no order

  /// Who is filtered, by node class and reason, in the order in which a pass counts them.
  struct {
    std::uint64_t epoch = 0, kinds_left = 0;  ///< of the nodes that it is of
    std::int32_t evaluated = 0;               ///< 0: not known
    std::vector<Filtered> counts;
    tables::ClassVerdicts classes;              ///< of passes over all; empty: not known
    std::vector<std::uint32_t> classes_groups;  ///< for these groups, in order
  } filtered;

  /// What the whole attempt came to that ended with this Select, its only one, and planned nothing.
  struct {
    bool known = false;
    std::uint64_t job_changes = 0;             ///< JobKey::changes
    std::shared_ptr<const model::Job> object;  ///< JobTable::objects
    std::shared_ptr<const tables::ColdState> surroundings;
    std::vector<GroupResult> groups;  ///< but for the counts of the failure
    std::size_t failed = 0;           ///< position of the group that did
    Eligibility eligibility;
    base::Uuid deployment;
  } attempt;

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

class FailureMemos {
 public:
  /// Null: none.
  [[nodiscard]] FailureMemo* find(const model::Job* job, std::uint32_t group) {
    const auto at = of_group_.find({job, group});
    return at == of_group_.end() ? nullptr : &memos_[at->second];
  }
  /// That of the group, or one to be filled in.
  FailureMemo& add(const std::shared_ptr<const model::Job>& job, std::uint32_t group, std::size_t nodes) {
    if (FailureMemo* known = find(job.get(), group)) return *known;
    constexpr std::size_t kBytes = std::size_t{32} << 20, kLeast = 4, kMost = 16384;  // kMost: of jobs kept alive
    const std::size_t most = std::clamp(kBytes / (nodes + 1), kLeast, kMost);
    if (memos_.size() < most)
      memos_.emplace_back(), next_ = memos_.size() - 1;
    else
      next_ = (next_ + 1) % memos_.size();
    drop(memos_[next_]);
    memos_[next_].attempt = {}, memos_[next_].filtered = {};
    memos_[next_].job = job;
    memos_[next_].group = group;
    of_group_[{job.get(), group}] = next_;
    return memos_[next_];
  }
  void drop(FailureMemo& memo) {
    if (memo.job) of_group_.erase({memo.job.get(), memo.group});
    memo.job = nullptr;
  }

 private:
  friend struct MemoryAccess;
  std::vector<FailureMemo> memos_;
  std::size_t next_ = 0;  // filled in last
  using Key = std::pair<const model::Job*, std::uint32_t>;
  struct KeyHash {
    std::size_t operator()(const Key& key) const noexcept { return base::BitHash()(key.first) + key.second; }
  };
  tsl::robin_map<Key, std::size_t, KeyHash> of_group_;
};

}  // namespace berth::sched
