// Shared by the two files that convert plans and evaluations to API objects.
#pragma once

#include "sched/to_model.h"
#include "tables/state.h"

namespace berth::sched {

inline const tables::CompiledJob* job_of(const Naming& naming, const PlanRows& plan) {
  return plan.job == tables::kNoRow ? nullptr : naming.snapshot.jobs.versions[plan.job].get();
}

/// The plan's job as stored, with its current ModifyIndex and status (R-CTRL-720).
inline const std::shared_ptr<const model::Job>& stored_object(const Naming& naming, const tables::CompiledJob& job) {
  return naming.snapshot.jobs.objects[job.key];
}

inline std::string id_text(base::Uuid id) { return id.is_nil() ? std::string() : base::to_text(id); }

/// The failed groups by name.
[[nodiscard]] std::map<std::string, model::AllocMetric> failures(const Naming& naming, const EvalResult& result);

/// `asked`: system jobs report preemptions only if annotations were requested (R-SCHED-102).
[[nodiscard]] model::PlanAnnotations annotations(const Naming& naming, const EvalResult& result, bool asked);

}  // namespace berth::sched
