#include "sched/node/scorer.h"

#include <cmath>
#include <limits>

#include "model/job.h"
#include "sched/node/component_table.h"
#include "tables/state.h"

namespace berth::sched {

using rank::Component;
using tables::CompiledGroup;
using tables::kNoRow;
using tables::NodeRow;

void Scorer::start() {
  spread_group_ = nullptr;
  penalty_nodes_ = {};
  affinity_codes_ = nullptr;
}

void Scorer::set_job(bool first, bool same_algorithm) {
  if (!same_algorithm) fit_memo_valid_ = false;
  if (first) return;
  effects_.spread.drop_groups();
  spread_group_ = nullptr;
}

void Scorer::begin_select(const GroupView& v, const SelectOptions& options) {
  penalty_nodes_ = options.penalty_nodes;
  spread_group_ = nullptr;
  if (!attempt_.spread_job && v.group->spreads.empty()) return;
  spread_group_ = effects_.spread.find(v.number);
  if (!spread_group_) spread_group_ = &prepare_spread(v);
  effects_.spread.begin_select(*spread_group_);
}

void Scorer::begin_affinities(const CompiledGroup& group) {
  affinity_codes_ = nullptr;
  if (group.affinities.size() != 1) return;
  const tables::ColumnId column =
      scratch_.by_content.verdicts.column_of(*attempt_.snapshot, group.affinities.front().constraint);
  if (column == tables::kNoColumn) return;
  tables::ColumnTarget target;
  target.column = column;
  const ColumnMirror& mirror = scratch_.mirror(*attempt_.snapshot, target);
  affinity_codes_ = mirror.code_of_row.data();
  affinity_of_value_.assign(mirror.text.size() + 1, std::numeric_limits<double>::quiet_NaN());
}

/// Counts the existing allocations and the plan so far, at the first Select of the group.
rank::SpreadGroup& Scorer::prepare_spread(const GroupView& v) {
  static const std::vector<tables::CompiledSpread> kNone;
  static const std::vector<model::Spread> kNoSpecs;
  const CompiledGroup& group = *v.group;
  const tables::CompiledJob* const job = attempt_.spread_job;
  spread_properties_.clear();
  for (const auto* list : {job ? &job->spreads : &kNone, &group.spreads})
    for (const tables::CompiledSpread& spread : *list) {
      const ColumnMirror& mirror = scratch_.mirror(*attempt_.snapshot, spread.target);
      spread_properties_.push_back({mirror.code_of_row, mirror.text, mirror.ascending});
    }
  rank::SpreadGroup& out = effects_.spread.prepare(v.number, job ? job->spec->spreads.list() : kNoSpecs,
                                                   group.spec->spreads, group.count, spread_properties_);
  const tables::AllocTable& allocs = attempt_.snapshot->allocs;
  for (tables::AllocRow row = attempt_.snapshot->jobs.keys[attempt_.job->key].alloc_head; row != kNoRow;
       row = allocs.next_of_job[row])
    if (allocs.group[row] == group.name && attempt_.is_existing(row)) out.count_existing(allocs.node[row]);
  effects_.each_entry([&](std::uint32_t number, NodeRow node, int change) {
    if (number != v.number) return;
    if (change > 0)
      out.count_proposed(node, 1);
    else
      out.count_cleared(node, 1);
  });
  return out;
}

double Scorer::fit_component(std::int64_t cpu, double cpu_capacity, std::int64_t memory, double memory_capacity) {
  const auto key = static_cast<std::uint64_t>(cpu) * 0x9e3779b97f4a7c15ULL ^
                   static_cast<std::uint64_t>(memory) * 0xbf58476d1ce4e5b9ULL;
  FitMemo& memo = fit_memo_[key >> 58];
  if (fit_memo_valid_ && memo.cpu == cpu && memo.memory == memory && memo.cpu_capacity == cpu_capacity &&
      memo.memory_capacity == memory_capacity)
    return memo.component;
  if (!fit_memo_valid_) {
    // The capacity NaN makes an entry that matches no lookup.
    fit_memo_.fill({0, 0, std::numeric_limits<double>::quiet_NaN(), 0, 0});
    fit_memo_valid_ = true;
  }
  memo = {cpu, memory, cpu_capacity, memory_capacity,
          rank::fit_component(attempt_.config.algorithm, cpu, cpu_capacity, memory, memory_capacity)};
  return memo.component;
}

/// Returns the fit component of one node by the strategy (R-STRAT-007).
double Scorer::strategy_component(NodeRow row, const CompiledGroup& group, const FitUse& use, const Option* option) {
  StrategyFit& fit = scratch_.strategy_fit;
  const tables::Snapshot& state = *attempt_.snapshot;
  fit.begin(group, attempt_.job->priority);
  if (group.has_cores) {
    BERTH_DEBUG_ASSERT(option);
    fit.set_ask_cpu(option->ask_cpu_mhz);
  }
  const tables::NodeUse& stored = state.nodes.use[row];
  const NodeOverlay* const overlay = scratch_.overlay(row);
  const std::int64_t allocs = static_cast<std::int64_t>(stored.alloc_count) + (overlay ? overlay->allocs : 0);
  if ((stored.device_allocs > 0 || (overlay && overlay->complex_allocs > 0)) && fit.devices(state, row) > 0) {
    if (!option) proposed_.collect_special(row, Proposed::Devices::each);
    fit.add(state, row, use, allocs, proposed_.shapes);
  } else {
    fit.add(state, row, use, allocs);
  }
  return fit.take().front();
}

void Scorer::score(NodeRow row, const tables::NodeCapacity& capacity, const NodeOverlay* overlay,
                   const CompiledGroup& group, const FitUse& use, const Option* option, rank::ScoreRow& out) {
  const ScoredOption of{*this, row, capacity, overlay, group, use, option};
  out.appended = 0;
  const auto append = [&](const ScoreComponent& component) {
    if (component.changes != ScoreComponent::Changes::with_node) return;
    if (attempt_.system && !component.of_system_jobs) return;
    if (const std::optional<double> value = component.of_node(of)) out.append(component.place, *value);
  };
  if (scratch_.components.empty() || attempt_.system) [[likely]]
    return each_component([&](auto at) { append(kScoreComponents[at]); });
  for (const ScoreComponent& component : scratch_.components) append(component);
}

double Scorer::final_score(NodeRow row, rank::ScoreRow& score) {
  const auto set = [&](const ScoreComponent& component) {
    if (component.changes != ScoreComponent::Changes::with_select) return;
    const std::optional<double> value = component.of_select(*this, row);
    score.set(component.place, value.value_or(0), value.has_value());
  };
  if (scratch_.components.empty()) [[likely]]
    each_component([&](auto at) { set(kScoreComponents[at]); });
  else
    for (const ScoreComponent& component : scratch_.components) set(component);
  return score.mean();
}

}  // namespace berth::sched
