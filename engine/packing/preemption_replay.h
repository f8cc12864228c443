// A packing problem replayed with preemption: a task that fits nowhere evicts others of lower priority, by a rule.
//
// A ranking strategy places the tasks one by one in order of arrival. If it finds no node, nodes are searched for
// victims, and the best node by the rule's own order takes the task. Evicted tasks are placed again at once with the
// same strategy and rule, so they may evict in turn: a cascade. Tasks that fit nowhere wait, and are tried again
// whenever tasks have left, highest priority first.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "berth/preemption.h"
#include "packing/replay.h"
#include "sim/histogram.h"

namespace berth::packing {

/// R-STRAT-802.
enum class Eligibility : std::uint8_t {
  nomad,       ///< priority at least 10 lower, and not of the same job
  kubernetes,  ///< lower priority
};

/// Disruption budgets: how many tasks of a group may be evicted or not yet placed at a time. Kubernetes' rules avoid
/// evictions beyond the budget; the others ignore it. Tasks of the initial load have no budget.
struct Budgets {
  bool by_migrate = false;              ///< max_parallel of the group's migrate block; no block: no budget
  std::optional<std::int32_t> of_each;  ///< the same number for every group
};

struct PreemptionOptions {
  std::int64_t seed = 1;
  bool departures = false;
  Eligibility eligible = Eligibility::nomad;
  Budgets budgets{};
};

/// A measurement after `arrived_percent` of the arrivals.
struct PreemptionMoment {
  double arrived_percent = 0;
  double priority_running_percent = 0;
  std::uint64_t victims = 0;  ///< so far
  double lost_cpu_ghz_h = 0;  ///< so far
};

struct PreemptionRun {
  std::uint64_t asked = 0;
  std::uint64_t running = 0;            ///< tasks that run at the end or have finished
  double priority_running_percent = 0;  ///< the same, each task weighted by its priority
  std::uint64_t preemptions = 0;        ///< decisions that evicted
  std::uint64_t victims = 0;            ///< evictions; a task evicted twice counts twice
  std::int64_t victim_priorities = 0;
  std::int32_t victim_priority_max = 0;
  double lost_cpu_ghz_h = 0, lost_memory_gib_h = 0;  ///< run time of victims times their amounts
  double overshoot = 0;                              ///< sum over decisions, in nodes: freed beyond the need
  std::uint64_t cascades = 0;                        ///< decisions made for a task that had been evicted
  std::uint32_t cascade_depth_max = 0;               ///< 1 = an evicted task evicted others
  std::uint64_t placed_again = 0;                    ///< evictions whose task found a place again
  std::uint64_t beyond_budget = 0;                   ///< evictions from a group that was at its disruption budget
  std::uint64_t looked_for = 0;                      ///< decisions that looked for victims
  std::uint64_t unproven = 0;                        ///< of these, with an exact search that was cut off
  sim::Histogram latency;                            ///< ns per decision that looked for victims
  double decide_s = 0;
  std::vector<PreemptionMoment> moments;  ///< at most kMoments
  std::string digest;
};

/// Errors come from the ranking strategy and the rule. Rows of the fleet are the nodes in `order`.
[[nodiscard]] Result<PreemptionRun> replay_preemption(
    const sim::PackingProblem& problem, const strategy::Context& context, const std::vector<std::uint32_t>& order,
    const PreemptionOptions& options, const strategy::Registry& strategies, const strategy::StrategySpec& spec,
    const strategy::PreemptionRegistry& rules, const strategy::StrategySpec& rule);

}  // namespace berth::packing
