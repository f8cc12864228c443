// Evict mode of a Select (R-PREEMPT-101 to 109, 301 to 305, 703): the outcome for the nodes visited.
//
// A node's shared cell records whether the group fits without eviction; it stays unchanged. If the group does not fit,
// the bin-pack stage is repeated with eviction. That outcome is stored for this Select only: one EvictOption per node,
// in visiting order. EvictionLevels bound what eviction can free on a node, which avoids most of the work.
#pragma once

#include <array>

#include "rank/top_scores.h"
#include "sched/node/node_fit.h"

namespace berth::sched {

/// A node visited by the current Select: an option, with or without victims, or none.
struct EvictOption {
  std::uint32_t position = 0;
  Cell cell;
  std::span<const tables::AllocRow> victims;
};

class EvictOptions {
 public:
  EvictOptions(Attempt& attempt, NodeFit& fit) : attempt_(attempt), scratch_(attempt.scratch), fit_(fit) {}

  void clear() { options_.clear(); }
  /// Decides the node at `position`, whose cell has the result without eviction. Valid until the next call.
  EvictOption& decide(std::uint32_t position, tables::NodeRow row, const GroupView& view, const Cell& cell,
                      const tables::EvictionBound& room);
  [[nodiscard]] const EvictOption& at(std::uint32_t position) const;
  /// The options decided since clear().
  [[nodiscard]] std::span<const EvictOption> decided() const { return options_; }

  /// True if the bounds on an eviction hold: they assume Nomad's own choice of victims and its scores.
  [[nodiscard]] bool bounds_hold() const {
    const model::Quirks& q = attempt_.quirks;
    return q.fit_counts_victims && q.own_use_ignored && q.needless_victim && q.max_parallel_ignored;
  }
  /// Bounds what eviction can free on a node for a group without ports, devices and cores, from the node's columns
  /// alone (R-PREEMPT-403 to 407).
  [[nodiscard]] tables::EvictionBound room(tables::NodeRow row, const tables::CompiledGroup& group) const;
  /// True if eviction is certain to make room on the node, but the option ranks behind all those listed so far for any
  /// choice of victims. Sets `bound` to an upper bound of its score: binpack counts the victims (R-RANK-647), and the
  /// preemption score is at most best_preemption(). In sampled mode only for scores certain to be above 0, because
  /// others would be set aside (R-RANK-411).
  bool is_outdone(tables::NodeRow row, const GroupView& view, const Cell& cell, const tables::EvictionBound& room,
                  const rank::TopScores& top, double& bound);
  double best_preemption(const tables::EvictionBound& room, std::int32_t least);

 private:
  /// Recent preemption scores, by the victims' highest priority and the sum of their priorities.
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
