// The strategy that a workload uses as the fit component of its run (R-STRAT-007).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "berth/strategy.h"
#include "sim/generated_cluster.h"
#include "sim/job_stream.h"
#include "sim/named_strategy.h"

namespace berth::sim {

struct FitStrategy {
  std::shared_ptr<const strategy::Ranker> ranker;  ///< its fit() is not empty
  std::vector<std::string> models;                 ///< of device groups, indexed by NodeState::model; [0] = none
  std::int64_t device_shares = 1;                  ///< instances per device
};
/// Makes workload.strategy, which must not be "nomad". Its reference values (largest capacities, mean request, typical
/// workload) are those of the whole workload, as in `berth compare`.
[[nodiscard]] Result<FitStrategy> fit_strategy(const Workload& workload, const GeneratedCluster& cluster,
                                               const JobStream& jobs);

}  // namespace berth::sim
