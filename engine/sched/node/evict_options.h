// Evict mode of a Select (R-PREEMPT-101 to 109, 301 to 305, 703): what came out for the nodes visited.
//
// A node's shared cell says whether the group fits as things are; it stays as it is. Where it does not, the bin-pack
// stage is gone through again, taking victims. That outcome is kept for this Select only: an EvictOption per node, in
// visiting order. Figures of a node (EvictionLevels) bound what eviction can do there, which spares most of the work.
#pragma once

#include <array>

#include "rank/top_scores.h"
#include "sched/node/node_fit.h"

namespace berth::sched {

/// A node visited by the Select under way: an option, with or without victims, or none.
struct EvictOption {
  std::uint32_t position = 0;
  Cell cell;
  std::span<const tables::AllocRow> victims;
};

class EvictOptions {
 public:
  EvictOptions(Attempt& attempt, NodeFit& fit) : attempt_(attempt), scratch_(attempt.scratch), fit_(fit) {}

  void clear() { options_.clear(); }
  /// Decides the node at `position`, whose cell says how it is without eviction; valid until the next one.
  EvictOption& decide(std::uint32_t position, tables::NodeRow row, const GroupView& view, const Cell& cell,
                      const tables::EvictionBound& room);
  [[nodiscard]] const EvictOption& at(std::uint32_t position) const;
  /// Those decided since clear().
  [[nodiscard]] std::span<const EvictOption> decided() const { return options_; }

  /// Whether what figures say of an eviction holds: they know only how Nomad chooses and scores.
  [[nodiscard]] bool bounds_hold() const {
    const model::Quirks& q = attempt_.quirks;
    return q.fit_counts_victims && q.own_use_ignored && q.needless_victim && q.max_parallel_ignored;
  }
  /// What eviction can do on a node for a plain group, from the node's figures alone (R-PREEMPT-403 to 407).
  [[nodiscard]] tables::EvictionBound room(tables::NodeRow row, const tables::CompiledGroup& group) const;
  /// Whether eviction is sure to make room on the node, and yet the option is behind those that are listed so far,
  /// whoever goes. `bound` is a score the option does not exceed: binpack counts the victims (R-RANK-647), and none are
  /// better to evict than best_preemption() says. Where a score of 0 or less would be set aside (R-RANK-411), only for
  /// options that are sure to be above.
  bool is_outdone(tables::NodeRow row, const GroupView& view, const Cell& cell, const tables::EvictionBound& room,
                  const rank::TopScores& top, double& bound);
  double best_preemption(const tables::EvictionBound& room, std::int32_t least);

 private:
  /// Preemption scores met lately, by the highest priority and the sum of those that would go.
  struct PreemptionMemo {
    std::int64_t highest = 0, sum = 0;
    double score = 0;
  };

  Attempt& attempt_;
  Scratch& scratch_;
  NodeFit& fit_;
  std::vector<EvictOption> options_;
  std::array<PreemptionMemo, 256> preemption_memo_{};
};

[[nodiscard]] inline tables::Amounts free_of(const tables::NodeCapacity& capacity, const tables::NodeUse& use) {
  return tables::Amounts{capacity.cpu_mhz, capacity.memory_mb, capacity.disk_mb}.without(
      {use.cpu_mhz, use.memory_mb, use.disk_mb});
}

}  // namespace berth::sched
