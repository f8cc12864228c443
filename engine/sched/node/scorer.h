// Appends the score components of a node to its row (rank/components.h): score() those that change only with the node,
// final_score() those that change from Select to Select. Preemption is appended where victims are chosen.
#pragma once

#include <array>
#include <cmath>

#include "sched/node/proposed.h"
#include "sched/source/candidates.h"

namespace berth::sched {

/// What a placement would hold on one node, built step by step where ports, devices or cores are involved.
struct Option {
  model::AllocatedResources* resources = nullptr;  ///< in Scratch::shapes, of the pool for such groups
  FitUse use;                                      ///< of the node with this option
  std::int64_t ask_cpu_mhz = 0;                    ///< the option's own part, cores included
  double device_weight = 0, device_matched = 0;
  std::uint32_t dimension = kReasonNone;  ///< why the group does not fit
};

class Scorer {
 public:
  Scorer(Attempt& attempt, PlanEffects& effects, Proposed& proposed)
      : attempt_(attempt), effects_(effects), proposed_(proposed), scratch_(attempt.scratch) {}

  void start();
  /// Called when the job version or the algorithm changes.
  void set_job(bool first, bool same_algorithm);
  void begin_select(const GroupView& view, const SelectOptions& options);

  /// Appends binpack, devices, anti-affinity and affinity of a node on which the group fits. `use` includes the group.
  /// `option`: built for the node, or null. If it is not null, `proposed` must contain the allocations that hold
  /// devices.
  void score(tables::NodeRow row, const tables::CompiledGroup& group, const FitUse& use, const Option* option,
             rank::ScoreRow& out) {
    score(row, attempt_.snapshot->nodes.capacity(row), scratch_.overlay(row), group, use, option, out);
  }
  /// The same with the node's capacity and overlay, if it has one.
  void score(tables::NodeRow row, const tables::NodeCapacity& capacity, const NodeOverlay* overlay,
             const tables::CompiledGroup& group, const FitUse& use, const Option* option, rank::ScoreRow& out);
  /// Adds penalty and spread of this Select; returns the mean of all components (R-RANK-901).
  double final_score(tables::NodeRow row, rank::ScoreRow& score);

  /// Component `binpack`: by the ranking strategy if there is one, else by Nomad's formula.
  double fit_component(const ScoredOption& of) {
    return scratch_.strategy_fit
               ? strategy_component(of.row, of.group, of.use, of.option)
               : fit_component(of.use.cpu_mhz, of.capacity.cpu_score, of.use.memory_mb, of.capacity.memory_score);
  }
  /// Number of proposed allocations of the job's group on the node (R-RANK-711).
  [[nodiscard]] std::int32_t collisions(const NodeOverlay* overlay, const tables::CompiledGroup& group) const {
    return effects_.collisions(overlay, group.name);
  }
  /// Component `allocation-spread` of this Select; 0 without spreads.
  double spread(tables::NodeRow row) { return spread_group_ ? effects_.spread.score(*spread_group_, row) : 0.0; }
  /// Component `binpack` by Nomad's formula.
  double fit_component(std::int64_t cpu, double cpu_capacity, std::int64_t memory, double memory_capacity);
  /// Component `node-affinity` of a group with affinities.
  [[nodiscard]] double affinity(tables::NodeRow row, const tables::CompiledGroup& group) {
    rank::AffinitySum sum;
    for (const tables::CompiledAffinity& a : group.affinities)
      sum.add(a.weight, scratch_.by_content.verdicts.holds(*attempt_.snapshot, a.constraint, row));
    return sum.component();
  }
  /// affinity() for the group passed to begin_affinities(). With a single affinity on one column it is cached by value.
  [[nodiscard]] double affinity_here(tables::NodeRow row, const tables::CompiledGroup& group) {
    if (!affinity_codes_) return affinity(row, group);
    const std::uint32_t value = affinity_codes_[row] + 1;  // 0: none
    double& known = affinity_of_value_[value];
    if (std::isnan(known)) known = affinity(row, group);
    return known;
  }
  void begin_affinities(const tables::CompiledGroup& group);
  [[nodiscard]] bool is_penalised(tables::NodeRow row) const {
    return std::find(penalty_nodes_.begin(), penalty_nodes_.end(), row) != penalty_nodes_.end();
  }
  /// Of the current Select; null without spreads.
  [[nodiscard]] rank::SpreadGroup* spread_group() const { return spread_group_; }

 private:
  double strategy_component(tables::NodeRow row, const tables::CompiledGroup& group, const FitUse& use,
                            const Option* option);
  rank::SpreadGroup& prepare_spread(const GroupView& view);

  /// Cache of recent fit scores by node shape: clusters have few shapes, and 10^y twice costs more than a lookup.
  struct FitMemo {
    std::int64_t cpu, memory;
    double cpu_capacity, memory_capacity, component;
  };

  Attempt& attempt_;
  PlanEffects& effects_;
  Proposed& proposed_;
  Scratch& scratch_;
  std::span<const tables::NodeRow> penalty_nodes_;
  rank::SpreadGroup* spread_group_ = nullptr;
  std::vector<rank::SpreadProperty> spread_properties_;
  const std::uint32_t* affinity_codes_ = nullptr;  // by row: code of the value, less 1; null: cannot be cached by value
  std::vector<double> affinity_of_value_;          // by code; not a number: unknown
  std::array<FitMemo, 64> fit_memo_{};
  bool fit_memo_valid_ = false;
};

}  // namespace berth::sched
