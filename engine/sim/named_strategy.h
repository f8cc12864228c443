// The strategies and queue policies that a workload names.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "berth/queue.h"
#include "berth/strategy.h"
#include "sim/generated_cluster.h"
#include "sim/job_stream.h"
#include "sim/workload.h"

namespace berth::sim {

/// Finds a sum defined in the workload file, or a registered strategy, "name:key=value". Errors list both.
[[nodiscard]] Result<strategy::StrategySpec> named_strategy(const Workload& workload, const std::string& text);

/// A strategy as the fit component of a run (R-STRAT-007).
struct FitStrategy {
  std::shared_ptr<const strategy::Ranker> ranker;  ///< its fit() is not empty
  std::vector<std::string> models;                 ///< of device groups, indexed by NodeState::model; [0] = none
  std::int64_t device_shares = 1;                  ///< instances per device
};
/// Makes workload.strategy, which must not be "nomad". Its reference values (largest capacities, mean request, typical
/// workload) are those of the whole workload, as in `berth compare`.
[[nodiscard]] Result<FitStrategy> fit_strategy(const Workload& workload, const GeneratedCluster& cluster,
                                               const JobStream& jobs);

/// Makes workload.queue with the workload's seed; null for Nomad's order. Error if it weighs a namespace without jobs.
[[nodiscard]] Result<std::unique_ptr<strategy::QueuePolicy>> queue_policy(const Workload& workload,
                                                                          const JobStream& jobs);

}  // namespace berth::sim
