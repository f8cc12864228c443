#include "sched/stack/attempt.h"

#include <algorithm>

#include "model/job.h"
#include "sched/node/resource_kind.h"
#include "tables/state.h"

namespace berth::sched {

using tables::CompiledGroup;
using tables::CompiledJob;
using tables::kNoRow;
using tables::Snapshot;

StackConfig stack_config(const Snapshot& snapshot, const CompiledJob& job, rank::OrderProvider provider) {
  StackConfig out;
  out.provider = provider;
  std::string algorithm;
  if (const auto& config = snapshot.cold->scheduler_config) {
    algorithm = config->scheduler_algorithm;
    out.memory_oversubscription = config->memory_oversubscription_enabled;
    if (config->node_limit_for_feasibility_checks > 0) out.node_limit = config->node_limit_for_feasibility_checks;
  }
  for (const model::NodePool& pool : snapshot.cold->node_pools) {
    if (pool.name != job.spec->node_pool || !pool.scheduler_configuration) continue;
    const auto& over = *pool.scheduler_configuration;
    if (!over.scheduler_algorithm.empty()) algorithm = over.scheduler_algorithm;
    if (over.memory_oversubscription_enabled) out.memory_oversubscription = *over.memory_oversubscription_enabled;
  }
  out.algorithm = algorithm == "spread" ? rank::FitAlgorithm::spread : rank::FitAlgorithm::binpack;
  return out;
}

void Attempt::start(const Snapshot& state, PlanRows& rows, bool of_system) {
  snapshot = &state;
  plan = &rows;
  system = of_system;
  job = spread_job = nullptr;
  given.clear();
  names.clear();
  ++attempts_;
  numbers.clear();
  error.clear();
  scratch.start_attempt(state);
}

bool Attempt::set_job(const CompiledJob& version, const StackConfig& its_config) {
  const bool met = std::find(given.begin(), given.end(), &version) != given.end();
  job = &version;
  if (!met) given.push_back(&version), scratch.enter(*snapshot, version);
  config = its_config;
  enabled = config.sources;
  find_needs();
  numbers.clear();
  for (const CompiledGroup& group : version.groups) numbers.push_back(number_of(group.name));
  if (!version.spreads.empty()) spread_job = &version;  // a version without spreads keeps the former list
  return met;
}

void Attempt::find_needs() {
  const tables::NodeTable& nodes = snapshot->nodes;
  needs = {};
  needs.add(Need::several_versions, given.size() > 1);
  needs.add(Need::exhaustive, config.exhaustive);
  needs.add(Need::metrics, !config.defer_metrics);
  needs.add(Need::shuffled_order, config.provider != rank::OrderProvider::identity);
  needs.add(Need::strategy_score, static_cast<bool>(scratch.strategy_fit));
  needs.add(Need::stale_classes, !nodes.classes_exact);
  needs.add(Need::mixed_profiles, !nodes.class_profiles_exact);
  needs.add(Need::mixed_kinds, !nodes.class_kinds_exact);
  needs.add(Need::ports_or_cores_held, nodes.port_or_core_allocs != 0);
  needs.add(Need::invalid_nodes, nodes.invalid_nodes != 0);
  needs.add(Need::classes_by_node, !quirks.verdicts_per_class);
  for (const ScoreComponent& component : scratch.components) needs = needs | component.adds;
  for (const ResourceKind& kind : scratch.resources) needs = needs | kind.adds;
}

std::uint32_t Attempt::number_of(tables::Symbol name) {
  if (last_number_ < names.size() && names[last_number_] == name) return last_number_;
  Numbered& known = numbered_[name];
  if (known.attempt != attempts_) {
    known = {attempts_, static_cast<std::uint32_t>(names.size())};
    names.push_back(name);
  }
  return last_number_ = known.number;
}

std::uint32_t Attempt::number_in_plan(const PlannedAlloc& alloc) {
  if (alloc.job == kNoRow && given.size() == 1) return numbers[alloc.group];
  return number_of(snapshot->jobs.versions[alloc.job == kNoRow ? plan->job : alloc.job]->groups[alloc.group].name);
}

bool Attempt::is_existing(tables::AllocRow alloc) const {
  const tables::AllocTable& allocs = snapshot->allocs;
  return job && !allocs.terminal(alloc) && allocs.node[alloc] != kNoRow && allocs.job_key[alloc] == job->key &&
         (allocs.job[alloc] == kNoRow ||
          snapshot->jobs.versions[allocs.job[alloc]]->spec->create_index == job->spec->create_index);
}

}  // namespace berth::sched
