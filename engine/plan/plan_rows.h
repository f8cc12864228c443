// A plan as rows: what one attempt proposes, in numbers (R-MODEL-190, R-SCHED-22).
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "plan/metrics.h"

namespace berth::plan {

/// One new allocation. Its name is `<job ID>.<group>[<name_index>]`.
struct PlannedAlloc {
  base::Uuid id;
  tables::NodeRow node = tables::kNoRow;
  std::uint32_t group = 0;  ///< position in the job's group list
  std::uint32_t name_index = 0;
  double score = 0;  ///< final score of the node when it was chosen
  SelectMetrics metrics;
  const tables::ResourceShape* held = nullptr;         ///< what it holds
  std::shared_ptr<const tables::ResourceShape> shape;  ///< owner of `held`; null where it is the group's own shape
  std::uint32_t next_on_node = tables::kNoRow;         ///< next planned allocation on the same node
  bool first_on_node = false;                          ///< no earlier planned allocation is on its node
};

/// One allocation that the plan ends on the server's side.
struct PlannedStop {
  tables::AllocRow alloc = tables::kNoRow;
  bool evict = false;                    ///< a preemption: desired `evict` instead of `stop`
  std::optional<tables::Client> client;  ///< client status written with it, as for lost allocations (R-CTRL-626)
  /// A preemption: position in `allocs` of the one it makes room for. Preemptions ascend by it, then stand in the order
  /// of the choice; an allocation may stand there twice (R-PREEMPT-516).
  std::uint32_t by = tables::kNoRow;
  std::uint32_t next_on_node = tables::kNoRow;  ///< next planned stop on the same node
};

struct PlanRows {
  tables::JobRow job = tables::kNoRow;                  ///< the job version of every planned allocation
  std::vector<PlannedAlloc> allocs;                     ///< in plan order
  std::vector<PlannedStop> stops;                       ///< stops and preemptions, in plan order
  bool has_deployment = false;                          ///< a new deployment goes with the plan
  std::shared_ptr<const model::Deployment> deployment;  ///< written with the commit; null: by somebody else, or none
  void clear() {
    job = tables::kNoRow;
    allocs.clear();
    stops.clear();
    has_deployment = false;
    deployment.reset();
  }
};

}  // namespace berth::plan
