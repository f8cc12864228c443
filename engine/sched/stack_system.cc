// The system stack: one Select on one named node (R-FEAS-302, R-RANK-202, 221, 1109), for system and sysbatch jobs and
// for probing their in-place updates.
//
// Every Select forgets the class verdicts (R-FEAS-412), so a node's verdict is its own: a function of the node alone.
// That makes it cheap. The first failing check is remembered per (group, computed class, check profile), which hold
// between them all that the checks of a plain group read; the fit comes from the node's two lines of figures. Groups
// with ports, devices, cores, volumes or distinct_property, and nodes on which something has to be evicted, go through
// the general parts.
#include <algorithm>

#include "sched/stack.h"

namespace berth::sched {

using tables::CompiledGroup;
using tables::NodeRow;

void GenericStack::start_system(const tables::Snapshot& snapshot, PlanRows& plan, bool evict) {
  start(snapshot, plan);
  system_ = true;
  system_evict_ = evict;
  network_group_ = nullptr;
  node_scores_ = {};
  // The general parts work by position: the node of a Select stands in the only one.
  positions_ = scratch_.arena.take<Position>(1);
}

void GenericStack::set_candidates(const ReadyNodes& nodes, std::uint32_t base_set) {
  nodes_ = &nodes;
  base_set_ = base_set;
}

std::uint32_t GenericStack::first_failing_known(const Position& position, GroupView& v) {
  // A check may read more of a node than its class and profile: where a target is unique to the node, where classes
  // are stale, and where network parameters of an earlier group are inherited (R-FEAS-309).
  if (!snapshot_->nodes.classes_exact || job_->escapes || v.group->escapes || !network_ask_.is_default())
    return first_failing(position.row, v);
  const KindVerdict key{v.group, position.computed_class, snapshot_->nodes.capacity(position.row).check_profile,
                        kReasonNone};
  if (last_verdict_.is_for(key)) return last_verdict_.reason;
  const auto known = std::find_if(kind_verdicts_.begin(), kind_verdicts_.end(),
                                  [&](const KindVerdict& other) { return other.is_for(key); });
  if (known != kind_verdicts_.end()) {
    last_verdict_ = *known;
  } else {
    last_verdict_ = key;
    last_verdict_.reason = first_failing(position.row, v);
    kind_verdicts_.push_back(last_verdict_);
  }
  return last_verdict_.reason;
}

std::optional<Selected> GenericStack::select_node(NodeRow row, std::uint32_t group_index, std::uint32_t name_index,
                                                  bool probe) {
  base::StageClock* const detail = base::detailed_clock();
  const base::StageScope selecting(detail, base::Stage::filter);
  options_.name_index = name_index;
  options_.evict = system_evict_ && !(probe && fixed_);
  evict_options_.clear();
  evaluated_ = 1;
  filtered_ = exhausted_ = 0;
  reasons_.clear();
  classes_filtered_.clear();
  dimensions_.clear();
  classes_exhausted_.clear();
  missing_resources_.clear();
  GroupView& v = view(group_index);
  current_ = &v;
  const CompiledGroup& group = *v.group;
  if (network_group_ != v.group && (v.network || fixed_)) {  // R-FEAS-309; fixed: every group its own
    network_ask_ = v.network ? *v.network : feasible::NetworkAsk{};
    network_group_ = v.group;
  }
  prepare_distinct(v);

  const tables::NodeCapacity& capacity = snapshot_->nodes.capacity(row);
  Position& position = positions_[0];
  position = {row, capacity.computed_class_code, capacity.class_code, kPass};
  const bool by_class = !group.has_devices && !group.has_network;
  const std::uint32_t reason = by_class ? first_failing_known(position, v) : first_failing(row, v);
  if (!error_.empty()) return std::nullopt;
  if (reason != kReasonNone) {
    filter(position, reason);
    return std::nullopt;
  }
  if (group.has_host_volumes || group.has_csi_volumes) {
    prepare_volumes(v);
    if (!available(position)) return std::nullopt;
  } else {
    host_volumes_.reset();
    csi_volumes_.reset();
  }
  if (!properties_.empty() && !distinct(position, v)) return std::nullopt;

  if (detail) detail->enter(base::Stage::rank);
  decide_fit(position, v, v.cells[0]);
  node_cell_ = &v.cells[0];
  std::span<const tables::AllocRow> victims;
  if (node_cell_->fit == kFail && options_.evict && error_.empty()) {
    const base::StageScope preempting(base::Stage::preempt);
    const EvictOption& evicting = decide_evicting(0, v, room_by_eviction(row, capacity, group));
    node_cell_ = &evicting.cell;
    victims = evicting.victims;
  }
  const Cell& cell = *node_cell_;
  if (cell.fit == kFail) {
    if (cell.dimension == kDimensionInvalidNode || cell.dimension == kDimensionPortCollision) ++port_events_;
    if (cell.dimension != kReasonNone) exhaust(position, cell.dimension);
    return std::nullopt;
  }
  return chosen(row, cell.prefix / static_cast<double>(cell.appended), v, position, victims);
}

SelectMetrics GenericStack::counted() const {
  SelectMetrics out;
  out.evaluated = evaluated_;
  out.filtered = filtered_;
  out.exhausted = exhausted_;
  out.reasons = reasons_;
  out.classes_filtered = classes_filtered_;
  out.dimensions = dimensions_;
  out.classes_exhausted = classes_exhausted_;
  return out;
}

SelectMetrics GenericStack::take_node_metrics() {
  SelectMetrics out = counted();
  if (filtered_ + exhausted_ == 0) return out;
  Arena& arena = scratch_.arena;
  out.reasons = arena.copy(out.reasons);
  out.classes_filtered = arena.copy(out.classes_filtered);
  out.dimensions = arena.copy(out.dimensions);
  out.classes_exhausted = arena.copy(out.classes_exhausted);
  return out;
}

void GenericStack::add_candidates(SelectMetrics& metrics, bool names_pool) const {
  metrics.has_pool = true;
  metrics.names_pool = names_pool;
  metrics.in_pool = static_cast<std::int32_t>(nodes_->rows.size());
  metrics.base_set = base_set_;
}

void GenericStack::add_score(SelectMetrics& metrics, double final_score) {
  static constexpr std::size_t kAtOnce = 64;
  if (node_scores_.empty()) node_scores_ = scratch_.arena.take<NodeScore>(kAtOnce);
  NodeScore& score = node_scores_.front();
  node_scores_ = node_scores_.subspan(1);
  ScoredNode& node = score.node = {};
  metrics.top = {&node, 1};
  metrics.values = score.values;
  node.node = positions_[0].row;
  node.norm = final_score;
  std::uint16_t count = 0;
  node.log(Component::binpack, node_cell_->binpack, score.values, count);
  if (node_cell_->has_devices) node.log(Component::devices, node_cell_->devices, score.values, count);
}

}  // namespace berth::sched
