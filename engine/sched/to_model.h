// Converts results to API objects (plans, metrics, evaluations), for vectors, dry runs and reports.
#pragma once

#include "model/codec/codec.h"
#include "sched/evaluation.h"

namespace berth::sched {

struct Scratch;

/// Input for converting rows to IDs and names.
struct Naming {
  const tables::Snapshot& snapshot;
  const Scratch& scratch;
};

[[nodiscard]] model::AllocMetric to_model(const Naming& naming, const SelectMetrics& metrics, const std::string& pool);

/// The failure record of a group: its metrics and the requested resources of all its failed placements (R-SCHED-65).
[[nodiscard]] model::AllocMetric failure_metric(const Naming& naming, const GroupResult& result,
                                                const std::string& pool);

/// The name of a planned allocation (R-MODEL-591, 592).
[[nodiscard]] std::string planned_name(const tables::Snapshot& snapshot, const PlanRows& plan,
                                       const PlannedAlloc& alloc);

/// The deployment of the plan, if any; `priority`: the evaluation's.
[[nodiscard]] std::optional<model::Deployment> planned_deployment(const Naming& naming, const EvalResult& result,
                                                                  std::int64_t priority, std::int64_t now);

/// The plan of the last attempt, of any scheduler. `now` in ns.
[[nodiscard]] model::Plan to_model(const Naming& naming, const EvalResult& result, const model::Evaluation& eval,
                                   std::int64_t now);

/// An evaluation for Planner::create(). Call it at that moment, since the failures still change.
[[nodiscard]] model::Evaluation created_eval(const Naming& naming, const EvalResult& result, const CreatedEval& created,
                                             const model::Evaluation& eval, std::int64_t now);
/// The evaluation as it returns to the blocked ones (R-SCHED-18); only if `reblocked`.
[[nodiscard]] model::Evaluation reblocked_eval(const Naming& naming, const EvalResult& result,
                                               const model::Evaluation& eval);
/// The final update (R-SCHED-12 to 15).
[[nodiscard]] model::Evaluation updated_eval(const Naming& naming, const EvalResult& result,
                                             const model::Evaluation& eval);

}  // namespace berth::sched
