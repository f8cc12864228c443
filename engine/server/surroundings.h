// Input of a ranking strategy that replaces the fit component (R-STRAT-007): the cluster it compares with.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "berth/strategy.h"
#include "sched/node/strategy_fit.h"
#include "tables/job_table.h"

namespace berth::server {

/// The cluster that strategies compare with, and the device group names behind NodeState::model. Does not consider
/// which device models a job accepts.
struct Surroundings {
  strategy::Context context;
  std::vector<std::string> models{""};
};
[[nodiscard]] Surroundings surroundings_of(const tables::Snapshot& state);

/// A strategy that scores the fit of nodes, and the models that it distinguishes. A null ranker: Nomad's own fit.
struct ScoringStrategy {
  std::shared_ptr<const strategy::Ranker> ranker;
  std::vector<std::string> models;

  /// Ranks by it from now on. The strategy must outlive the use.
  void use_in(sched::StrategyFit& fit) const;
};
/// The strategy "NAME:KEY=VALUE" or "expr:FORMULA", which compares with `state` as it is now. Error: it does not exist,
/// a parameter is wrong, or it is not a score of each node.
[[nodiscard]] Result<ScoringStrategy> scoring_strategy(std::string_view text, const tables::Snapshot& state);
/// The same error, before there is a state.
[[nodiscard]] Result<void> check_scoring_strategy(std::string_view text);

}  // namespace berth::server
