// Nomad's score components: one function for each line of component_table.h.
#pragma once

#include "sched/node/scorer.h"

namespace berth::sched {

inline std::optional<double> binpack_of(const ScoredOption& of) { return of.scorer.fit_component(of); }

inline std::optional<double> devices_of_option(const ScoredOption& of) {  // R-RANK-654
  if (!of.option || of.option->device_weight == 0) return std::nullopt;
  return of.option->device_matched / of.option->device_weight;
}

inline std::optional<double> anti_affinity_of(const ScoredOption& of) {
  const std::int32_t same = of.scorer.collisions(of.overlay, of.group);
  if (same <= 0) return std::nullopt;
  return rank::anti_affinity(same, of.group.count);
}

inline std::optional<double> affinity_of(const ScoredOption& of) {
  if (of.group.affinities.empty()) return std::nullopt;
  return of.scorer.affinity(of.row, of.group);
}

inline std::optional<double> penalty_of(Scorer& scorer, tables::NodeRow row) {
  if (!scorer.is_penalised(row)) return std::nullopt;
  return rank::kReschedulePenalty;
}

inline std::optional<double> spread_of(Scorer& scorer, tables::NodeRow row) {
  const double spread = scorer.spread(row);
  if (spread == 0.0) return std::nullopt;  // R-RANK-833
  return spread;
}

}  // namespace berth::sched
