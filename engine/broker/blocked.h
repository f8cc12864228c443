// The tracker of blocked evaluations: which evaluations wait for capacity, and which may run again when some becomes
// free (R-CTRL-801 to 831).
//
// An evaluation that could not place everything is blocked until a change of the cluster may help it: a node of a class
// that it has not seen or found eligible, its own node (system jobs), a volume, a quota. At most one evaluation per job
// is tracked; an older one becomes a duplicate that the caller cancels. Releases go to the caller, which enqueues them
// into the broker with their tokens: an evaluation that is still outstanding is then requeued after its ack
// (R-CTRL-316).
//
// Data. One BlockedEval per evaluation, stored in `captured` or `escaped`; those of system jobs also by node. All are
// keyed by the caller's rows, which are array indexes, because a full cluster releases and blocks hundreds again after
// every few allocations that end. Classes, nodes, quotas, volumes, datacenters and pools are symbols; their text is
// only read to put unblock keys into bytewise order (R-CTRL-812). The caller passes the time.
//
// Threads: one at a time, in the order of the requests (R-CTRL-801).
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "base/row_map.h"
#include "broker/eval.h"
#include "model/quirks.h"
#include "tables/class_verdict.h"

namespace berth::broker {

using tables::ClassVerdict;
using tables::Symbol;

/// What an evaluation lacks in one (datacenter, exhausted node class, pool): statistics only (R-CTRL-830).
struct Lack {
  Symbol datacenter = 0, node_class = 0, pool = 0;
  std::int64_t cpu_mhz = 0, memory_mb = 0;
};

struct BlockedEval {
  Eval eval;                         ///< its token: that of a delivery that re-blocks it, else none (R-CTRL-408)
  std::uint64_t snapshot_index = 0;  ///< of the state that the scheduler read
  bool escaped = false;              ///< EscapedComputedClass
  bool max_plan_attempts = false;    ///< triggered by exhausted plan attempts (R-CTRL-819)
  Symbol quota = 0;                  ///< QuotaLimitReached; the empty symbol if no quota was reached
  Symbol node = 0;                   ///< NodeID of a system evaluation
  tables::ClassVerdicts classes;
  std::vector<Symbol> missing_resources;
  std::int64_t cpu_mhz = 0, memory_mb = 0;  ///< sum over the failed groups (R-CTRL-830)
  std::vector<Lack> lacks;
};

class BlockedTracker {
 public:
  /// Symbols must outlive the tracker. Effects of quirks that are off: without one_blocked_per_group, evaluations that
  /// name a node are tracked one per job and node instead of one per job (R-CTRL-803, 808, 821); without
  /// unblock_keys_shared, classes and resources have separate unblock keys (R-CTRL-811); without queue_counts_drift,
  /// the counts are exact (R-CTRL-831).
  explicit BlockedTracker(const tables::SymbolTable& symbols, const model::Quirks& quirks = {})
      : symbols_(symbols), quirks_(quirks), unblocks_(ByText{&symbols}), resource_unblocks_(ByText{&symbols}) {}

  /// A new tracker is disabled and ignores everything (R-CTRL-802). The pruning interval starts here (R-CTRL-813).
  void enable(std::int64_t now_ns);
  /// Empties all state.
  void disable();
  [[nodiscard]] bool enabled() const { return enabled_; }

  /// Tracks an evaluation, or releases it at once if an unblock since its snapshot may help it (R-CTRL-803 to 811).
  /// This and the next functions append releases to `released`, ascending by (create index, row). Returns the
  /// evaluation of the same job and node that it replaced in system_by_node() (R-CTRL-806).
  std::optional<EvalRow> block(BlockedEval blocked, std::int64_t now_ns, std::vector<Eval>& released);
  /// The job owns nothing any more, and its row may be given to another job: that one was never blocked (R-CTRL-820).
  void forget_job(JobKeyRow job) { system_by_job_.erase(job), jobs_.erase(job); }
  /// Call when an evaluation of the job placed everything (R-CTRL-820). Appends the evaluations that it took out.
  void untrack(JobKeyRow job, std::int64_t now_ns, std::vector<EvalRow>& taken);
  void unblock_class(Symbol node_class, std::uint64_t index, std::int64_t now_ns, std::vector<Eval>& released);
  void unblock_quota(Symbol quota, std::uint64_t index, std::int64_t now_ns, std::vector<Eval>& released);
  void unblock_class_and_quota(Symbol node_class, Symbol quota, std::uint64_t index, std::int64_t now_ns,
                               std::vector<Eval>& released);
  void unblock_node(Symbol node, std::int64_t now_ns, std::vector<Eval>& released);
  void unblock_resources(std::span<const Symbol> resources, std::uint64_t index, std::int64_t now_ns,
                         std::vector<Eval>& released);
  /// Releases evaluations that ran out of plan attempts; call every 60 s (R-CTRL-819).
  void unblock_failed(std::int64_t now_ns, std::vector<Eval>& released);

  /// Appends the duplicates to `out` and clears them; the caller writes them `canceled` (R-CTRL-807).
  void take_duplicates(std::vector<EvalRow>& out);
  /// Removes entries older than 15 minutes, at every fifth minute since enable() (R-CTRL-813, 830).
  void advance(std::int64_t now_ns);
  /// Next time at which advance() has work; nullopt while disabled.
  [[nodiscard]] std::optional<std::int64_t> next_deadline() const {
    return enabled_ ? std::optional(next_prune_ns_) : std::nullopt;
  }

  /// R-CTRL-831: with queue_counts_drift the counts drift as Nomad's do, otherwise they equal what is tracked.
  struct Stats {
    std::int64_t blocked = 0, escaped = 0, quota_limited = 0;
  };
  [[nodiscard]] Stats stats() const;

  struct Booked {
    std::int64_t cpu_mhz = 0, memory_mb = 0, changed_ns = 0;
  };
  struct LackKey {
    Symbol datacenter = 0, node_class = 0, pool = 0;
    friend auto operator<=>(const LackKey&, const LackKey&) = default;
  };
  struct Unblock {
    std::uint64_t index = 0;
    std::int64_t at_ns = 0;
  };
  struct ByText {
    const tables::SymbolTable* symbols;
    bool operator()(Symbol a, Symbol b) const { return symbols->text(a) < symbols->text(b); }
  };
  using Tracked = base::RowMap<EvalRow, BlockedEval>;
  using TrackedOfNode = std::map<EvalRow, BlockedEval>;
  // Contents, for checks and reports.
  [[nodiscard]] const Tracked& captured() const { return captured_; }
  [[nodiscard]] const Tracked& escaped() const { return escaped_; }
  [[nodiscard]] const base::RowMap<JobKeyRow, EvalRow>& jobs() const {
    return jobs_;
  }  ///< without one_blocked_per_group: only evaluations without a node
  [[nodiscard]] const std::map<Symbol, Unblock, ByText>& unblocks() const { return unblocks_; }
  /// True if an unblock of the class or resource is noted: its symbol is in use.
  [[nodiscard]] bool is_noted(Symbol key) const { return unblocks_.contains(key) || resource_unblocks_.contains(key); }
  [[nodiscard]] const std::map<Symbol, TrackedOfNode>& system_by_node() const { return system_by_node_; }
  [[nodiscard]] const std::map<JobKeyRow, std::map<Symbol, EvalRow>>& system_by_job() const { return system_by_job_; }
  [[nodiscard]] const base::RowMap<JobKeyRow, Booked>& booked_by_job() const { return by_job_; }
  [[nodiscard]] const std::map<LackKey, Booked>& booked_by_class() const { return by_class_; }

 private:
  [[nodiscard]] bool missed_unblock(const BlockedEval& blocked) const;
  [[nodiscard]] bool has_place_of_its_own(const BlockedEval& blocked) const {
    return !quirks_.one_blocked_per_group && blocked.node != tables::kEmptySymbol;
  }
  [[nodiscard]] EvalRow* tracked_of(const BlockedEval& blocked);
  void unlink(const BlockedEval& blocked);
  BlockedEval take(EvalRow row, std::int64_t now_ns);
  template <class Wanted>
  void release_if(Tracked& set, std::int64_t now_ns, std::vector<Eval>& released, Wanted wanted);
  void untrack_nodes(JobKeyRow job, std::int64_t now_ns, std::vector<EvalRow>& taken);
  bool replace_duplicate(const BlockedEval& blocked, std::int64_t now_ns);
  void note(Symbol key, std::uint64_t index, std::int64_t now_ns);
  void release(Symbol node_class, Symbol quota, std::int64_t now_ns, std::vector<Eval>& released);
  void book(const BlockedEval& blocked, int sign, std::int64_t now_ns);
  void count(const BlockedEval& blocked, std::int64_t now_ns);
  void forget(const BlockedEval& blocked, std::int64_t now_ns);

  /// Cache of entries of `unblocks_` written recently, by key: most allocations end on nodes of few classes.
  struct Recent {
    Symbol key = tables::kEmptySymbol;
    Unblock* at = nullptr;
  };

  const tables::SymbolTable& symbols_;
  const model::Quirks quirks_;
  bool enabled_ = false;
  Tracked captured_, escaped_;
  base::RowMap<JobKeyRow, EvalRow> jobs_;
  std::map<Symbol, Unblock, ByText> unblocks_;
  std::vector<Recent> recent_{1024};                     // cleared whenever an entry of `unblocks_` is erased
  std::map<Symbol, Unblock, ByText> resource_unblocks_;  // without unblock_keys_shared
  std::map<Symbol, TrackedOfNode> system_by_node_;
  std::map<JobKeyRow, std::map<Symbol, EvalRow>> system_by_job_;  // an empty entry means: seen before (R-CTRL-820)
  std::vector<EvalRow> duplicates_;
  base::RowMap<JobKeyRow, Booked> by_job_;
  std::map<LackKey, Booked> by_class_;
  Stats stats_;  // counted as Nomad does
  std::int64_t next_prune_ns_ = 0;
  std::uint64_t newest_unblock_ = 0;  // upper bound of the index of every unblock
};

}  // namespace berth::broker
