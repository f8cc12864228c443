#include "sched/stack/select_parts.h"

#include <limits>

#include "tables/state.h"

namespace berth::sched {

void SelectParts::start(const tables::Snapshot& snapshot, PlanRows& plan, bool system) {
  attempt.start(snapshot, plan, system);
  effects.start();
  candidates.start(attempt.scratch);
  checks.start();
  fit.start();
  counts.empty_class = snapshot.nodes.empty_class_code;
  counts.port_events = 0;
}

void SelectParts::set_job(const tables::CompiledJob& job, const StackConfig& config) {
  BERTH_DEBUG_ASSERT(is_new_version(job));
  if (attempt.job) checks.class_verdicts();  // before the groups they belong to are replaced
  const tables::CompiledJob* const before = attempt.job;
  const bool same_algorithm = config.algorithm == attempt.config.algorithm;
  const bool given_before = attempt.set_job(job, config);
  fit.scorer.set_job(!before, same_algorithm);
  if (before) candidates.forget_job();
  checks.set_job(before, given_before);
  if (!before && !attempt.system) effects.load_own_allocs();
}

GroupView& SelectParts::begin_select(std::uint32_t group_index, const SelectOptions& asked) {
  begin_again(asked);
  GroupView& v = candidates.view(attempt, group_index);
  view = &v;
  return v;
}

void SelectParts::find_needs() {
  needs = attempt.needs | view->needs;
  needs.add(Need::spread, fit.scorer.spread_group() != nullptr);  // or of an earlier version (R-RANK-215)
  needs.add(Need::evict, options.evict);
  needs.add(Need::evict_follows, options.then_evict);
  needs.add(Need::penalties, !options.penalty_nodes.empty());
  needs.add(Need::inherited_network, !view->network && !checks.network().is_default());
  needs.add(Need::host_networks, !checks.network().ports.empty());
  needs.add(Need::plan_stops, !attempt.plan->stops.empty());
  needs.add(Need::plan_updates, !attempt.plan->updates.empty());
  needs.add(Need::domain, checks.distinct.has_domain());
}

void SelectParts::preempt(const Selected& selected) {
  effects.preempt(selected.node, selected.victims);
  for (const tables::AllocRow victim : selected.victims) fit.victims.count(victim);
}

}  // namespace berth::sched
