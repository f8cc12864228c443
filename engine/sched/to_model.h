// Results in words: plans, metrics and evaluations as API objects, for vectors, dry runs and reports.
#pragma once

#include "model/codec.h"
#include "sched/generic.h"

namespace berth::sched {

/// What turning rows into words needs.
struct Naming {
  const tables::Snapshot& snapshot;
  const Scratch& scratch;
};

[[nodiscard]] model::AllocMetric to_model(const Naming& naming, const SelectMetrics& metrics, const std::string& pool);

/// The failure record of a group: its metrics with the exhausted resources of all its failed placements (R-SCHED-65).
[[nodiscard]] model::AllocMetric failure_metric(const Naming& naming, const GroupResult& result,
                                                const tables::CompiledGroup& group, const std::string& pool);

[[nodiscard]] model::Plan to_model(const Naming& naming, const EvalResult& result, const model::Evaluation& eval,
                                   std::int64_t now);

/// The evaluations written: the created blocked one, if any, and the final update of `eval` (R-SCHED-12 to 15).
[[nodiscard]] std::vector<model::Evaluation> created_evals(const Naming& naming, const EvalResult& result,
                                                           const model::Evaluation& eval, std::int64_t now);
/// The evaluation as it goes back to the blocked ones (R-SCHED-18); only when `reblocked`.
[[nodiscard]] model::Evaluation reblocked_eval(const Naming& naming, const EvalResult& result,
                                               const model::Evaluation& eval);
[[nodiscard]] model::Evaluation updated_eval(const Naming& naming, const EvalResult& result,
                                             const model::Evaluation& eval);

}  // namespace berth::sched
