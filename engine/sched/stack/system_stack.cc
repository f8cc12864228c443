#include "sched/stack/system_stack.h"

#include "tables/state.h"

namespace berth::sched {

using tables::NodeRow;

void SystemStack::start(const tables::Snapshot& snapshot, PlanRows& plan, bool evict) {
  parts_.start(snapshot, plan, true);
  evict_ = evict;
  network_group_ = nullptr;
  node_scores_ = {};
}

void SystemStack::set_job(const tables::CompiledJob& job, const StackConfig& config) {
  if (parts_.is_new_version(job)) parts_.set_job(job, config);
}

void SystemStack::set_candidates(const ReadyNodes& nodes, std::uint32_t base_set) {
  parts_.candidates.nodes = &nodes;
  parts_.candidates.base_set = base_set;
  parts_.candidates.base_set_number = parts_.attempt.snapshot->base_sets[base_set]->number;
}

/// Runs the checks in order, without class verdicts.
bool SystemStack::passes(Position& position, GroupView& v) {
  NodeChecks& checks = parts_.checks;
  const std::uint32_t reason = checks.first_failing_known(position.row, v);
  if (!parts_.attempt.error.empty()) return false;
  if (reason != kReasonNone) {
    parts_.counts.filter(position.node_class, reason);
    return false;
  }
  checks.volumes.begin_select(v, parts_.options);
  return checks.volumes.passes(position) && (!checks.distinct.has_properties() || checks.distinct.passes(position, v));
}

std::uint32_t SystemStack::known_failure(NodeRow row, std::uint32_t group) {
  const std::vector<GroupView>& views = parts_.candidates.views;
  const Attempt& attempt = parts_.attempt;
  if (group >= views.size() || views[group].group != &attempt.job->groups[group]) return kReasonNone;
  const GroupView& v = views[group];
  if (network_group_ != v.group && (v.network || !attempt.quirks.group_inherits_network)) return kReasonNone;
  return parts_.checks.known_failure(row, v);
}

std::optional<Selected> SystemStack::select(NodeRow row, std::uint32_t group_index, std::uint32_t name_index,
                                            bool probe) {
  const Attempt& attempt = parts_.attempt;
  base::StageClock* const detail = base::detailed_clock();
  const base::StageScope selecting(detail, base::Stage::filter);
  SelectOptions options;
  options.name_index = name_index;
  options.evict = evict_ && !(probe && !attempt.quirks.probes_evict);
  GroupView& v = parts_.begin_select(group_index, options);
  parts_.counts.evaluated = 1;
  parts_.checks.volumes.missing_resources.clear();
  if (network_group_ != v.group && (v.network || !attempt.quirks.group_inherits_network)) {  // R-FEAS-309
    parts_.checks.begin_select(v);
    network_group_ = v.group;
  }
  parts_.checks.distinct.begin_select(v);

  const tables::NodeCapacity& capacity = attempt.snapshot->nodes.capacity(row);
  Position& position = parts_.candidates.positions[0];
  position = {row, capacity.computed_class_code, capacity.class_code, kPass};
  if (!passes(position, v)) return std::nullopt;

  if (detail) detail->enter(base::Stage::rank);
  Found found{row, 0, {}};
  Cell& cell = v.cells[0];
  parts_.fit.decide(row, v, cell);
  cell_ = &cell;
  if (cell.fit == kFail && options.evict && attempt.error.empty()) {
    const base::StageScope preempting(base::Stage::preempt);
    const EvictOption& evicting = parts_.evicting.decide(0, row, v, cell, parts_.evicting.room(row, *v.group));
    cell_ = &evicting.cell;
    found.victims = evicting.victims;
  }
  if (cell_->fit == kFail) {
    parts_.counts.exhaust(position.node_class, cell_->dimension);
    return std::nullopt;
  }
  found.score = cell_->score.mean();
  return parts_.fit.select(found, v);
}

SelectMetrics SystemStack::take_metrics() {
  SelectMetrics out;
  parts_.counts.metrics(parts_.attempt.scratch.arena, out);
  return out;
}

void SystemStack::add_candidates(SelectMetrics& metrics, bool names_pool) const {
  metrics.has_pool = true;
  metrics.names_pool = names_pool;
  metrics.in_pool = static_cast<std::int32_t>(parts_.candidates.nodes->size());
  metrics.base_set = parts_.candidates.base_set;
}

void SystemStack::add_score(SelectMetrics& metrics, double final_score) {
  static constexpr std::size_t kAtOnce = 64;
  if (node_scores_.empty()) node_scores_ = parts_.attempt.scratch.arena.take<NodeScore>(kAtOnce);
  NodeScore& score = node_scores_.front();
  node_scores_ = node_scores_.subspan(1);
  ScoredNode& node = score.node = {};
  metrics.top = {&node, 1};
  metrics.values = score.values;
  node.node = parts_.candidates.positions[0].row;
  node.norm = final_score;
  std::uint16_t count = 0;
  node.log(cell_->score, rank::component_bit(rank::Component::binpack), score.values, count);
}

}  // namespace berth::sched
