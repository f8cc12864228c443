#include "sched/stack.h"

#include <algorithm>
#include <bit>

#include "base/text.h"

namespace berth::sched {

using tables::CompiledGroup;
using tables::CompiledJob;
using tables::kNoRow;
using tables::NodeRow;
using tables::Snapshot;

namespace {

void count(std::vector<Count>& counts, std::uint32_t what) {
  for (Count& c : counts) {
    if (c.what != what) continue;
    ++c.count;
    return;
  }
  counts.push_back({what, 1});
}

}  // namespace

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

void GenericStack::start(const Snapshot& snapshot, const PlanRows& plan) {
  snapshot_ = &snapshot;
  plan_ = &plan;
  job_ = nullptr;
  nodes_ = nullptr;
  size_ = offset_ = frontier_ = 0;
  limit_ = 2;
  job_escapes_ = false;
  const std::size_t classes = snapshot.nodes.column(tables::kComputedClassColumn).values.size() + 1;
  job_verdicts_.assign(classes, kUnknown);
  for (GroupView& v : views_) v.group = nullptr;
  own_counts_.clear();
  missing_resources_.clear();
  port_events_ = 0;
  scratch_.start_attempt(snapshot);
}

void GenericStack::set_job(const CompiledJob& job, const StackConfig& config) {
  if (job_ && job_->version == job.version) return;
  job_ = &job;
  config_ = config;
  job_escapes_ = job.escapes;
  load_own_allocs();
}

Result<void> GenericStack::set_nodes(const ReadyNodes& nodes, std::uint32_t base_set, std::string_view eval_id) {
  nodes_ = &nodes;
  base_set_ = base_set;
  size_ = static_cast<std::uint32_t>(nodes.rows.size());
  offset_ = frontier_ = 0;
  if (auto done = order_.set(config_.provider, eval_id, snapshot_->index, size_); !done) return done;
  positions_ = scratch_.arena.take<Position>(size_);
  for (GroupView& v : views_) v.group = nullptr;
  // R-FEAS-216: ceil(log2 n) is the bit length of n - 1.
  limit_ = 2;
  if (!job_->batch && size_ > 0) limit_ = std::max<std::int64_t>(2, std::bit_width(size_ - 1));
  return {};
}

GenericStack::GroupView& GenericStack::view(std::uint32_t group) {
  if (views_.size() <= group) views_.resize(group + 1);
  GroupView& v = views_[group];
  if (v.group != &job_->groups[group]) {
    v.group = &job_->groups[group];
    v.cells = scratch_.arena.take<Cell>(size_);
    for (std::uint32_t i = 0; i < frontier_; ++i) v.cells[i].group_checks = v.cells[i].fit = kUnknown;
    v.verdicts.assign(job_verdicts_.size(), kUnknown);
  }
  return v;
}

void GenericStack::reach(std::uint32_t position) {
  const NodeRow row = nodes_->rows[order_.at(position)];
  const tables::NodeCapacity& capacity = snapshot_->nodes.capacity(row);
  positions_[position] = {row, capacity.computed_class_code, capacity.class_code, kUnknown};
  scratch_.mark(row).position = position;
  for (GroupView& v : views_)
    if (v.group) v.cells[position].group_checks = v.cells[position].fit = kUnknown;
  frontier_ = position + 1;
}

void GenericStack::filter(const Position& position, std::uint32_t reason) {  // R-FEAS-1602
  ++filtered_;
  if (!snapshot_->text(snapshot_->nodes.column(tables::kClassColumn).value(position.node_class)).empty())
    count(classes_filtered_, position.node_class);
  if (reason != kReasonNone) count(reasons_, reason);
}

void GenericStack::exhaust(const Position& position, std::uint32_t dimension) {  // R-RANK-1002
  ++exhausted_;
  if (!snapshot_->text(snapshot_->nodes.column(tables::kClassColumn).value(position.node_class)).empty())
    count(classes_exhausted_, position.node_class);
  if (dimension != kReasonNone) count(dimensions_, dimension);
}

bool GenericStack::job_checks(Position& position) {
  for (const tables::ConstraintId id : job_->constraints)
    if (!scratch_.verdicts.holds(*snapshot_, id, position.row)) {
      position.job_checks = kFail;
      filter(position, scratch_.reason_of(*snapshot_, id));
      return false;
    }
  position.job_checks = kPass;
  return true;
}

bool GenericStack::feasible(std::uint32_t index, GroupView& v) {  // R-FEAS-410
  Position& position = positions_[index];
  std::uint8_t& job_verdict = job_verdicts_[position.computed_class];
  if (!job_escapes_ && job_verdict == kIneligible) {
    filter(position, kReasonClassIneligible);
    return false;
  }
  // The job checks are a pure function of the node; a node that failed them before fails again, reason included.
  if (position.job_checks != kPass && !job_checks(position)) {
    if (!job_escapes_) job_verdict = kIneligible;
    return false;
  }
  if (!job_escapes_ && job_verdict == kUnknown) job_verdict = kEligible;
  std::uint8_t& group_verdict = v.verdicts[position.computed_class];
  const bool escapes = v.group->escapes;
  if (!escapes && group_verdict == kIneligible) {
    filter(position, kReasonClassIneligible);
    return false;
  }
  if (escapes || group_verdict == kUnknown) {
    Cell& cell = v.cells[index];
    if (cell.group_checks != kPass && !group_checks(position, v, cell)) {
      if (!escapes) group_verdict = kIneligible;
      return false;
    }
    if (!escapes) group_verdict = kEligible;
  }
  return available(position, v);
}

void GenericStack::load_own_allocs() {
  const tables::AllocTable& allocs = snapshot_->allocs;
  // Every job with this ID, whatever its namespace: anti-affinity does not compare namespaces (R-RANK-711).
  tables::JobKeyRow key = job_->key;
  do {
    for (tables::AllocRow row = snapshot_->jobs.keys[key].alloc_head; row != kNoRow; row = allocs.next_of_job[row]) {
      if (tables::client_terminal(allocs.client[row]) || allocs.node[row] == kNoRow) continue;
      OwnCount& own = own_count(allocs.node[row], allocs.group[row]);
      ++own.any_namespace;
      if (key == job_->key) ++own.own_namespace;
    }
    key = snapshot_->jobs.keys[key].next_same_id;
  } while (key != job_->key);
}

GenericStack::OwnCount& GenericStack::own_count(NodeRow row, tables::Symbol group) {
  NodeOverlay& overlay = scratch_.own_overlay(row);
  for (std::uint32_t i = overlay.first_own; i != kNoRow; i = own_counts_[i].next)
    if (own_counts_[i].group == group) return own_counts_[i];
  own_counts_.push_back({group, 0, 0, overlay.first_own});
  overlay.first_own = static_cast<std::uint32_t>(own_counts_.size() - 1);
  return own_counts_.back();
}

std::int32_t GenericStack::collisions(NodeRow row, tables::Symbol group) const {
  const NodeOverlay* overlay = scratch_.overlay(row);
  if (!overlay) return 0;
  for (std::uint32_t i = overlay->first_own; i != kNoRow; i = own_counts_[i].next)
    if (own_counts_[i].group == group) return own_counts_[i].any_namespace;
  return 0;
}

void GenericStack::decide_fit(const Position& position, const GroupView& v, Cell& cell) {
  const tables::NodeUse& use = snapshot_->nodes.use[position.row];
  const tables::NodeCapacity& capacity = snapshot_->nodes.capacity(position.row);
  const NodeOverlay* overlay = scratch_.overlay(position.row);
  const CompiledGroup& group = *v.group;
  const bool special = group.has_network || group.has_task_network || group.has_devices || group.has_cores ||
                       capacity.network_invalid || use.port_allocs || use.core_allocs ||
                       (overlay && overlay->complex_allocs);
  if (special) return decide_fit_special(position, v, cell);
  std::int64_t cpu = use.cpu_mhz + group.cpu_mhz, memory = use.memory_mb + group.memory_mb,
               disk = use.disk_mb + group.disk_mb;
  std::int64_t allocs = static_cast<std::int64_t>(use.alloc_count) + 1;
  if (overlay) {
    cpu += overlay->cpu_mhz;
    memory += overlay->memory_mb;
    disk += overlay->disk_mb;
    allocs += overlay->allocs;
  }
  cell.fit = kFail;
  if (capacity.max_allocs != 0 && static_cast<std::int64_t>(capacity.max_allocs) < allocs)
    cell.dimension = kDimensionMaxAllocs;  // R-RANK-532
  else if (capacity.cpu_mhz < cpu)
    cell.dimension = kDimensionCpu;
  else if (capacity.memory_mb < memory)
    cell.dimension = kDimensionMemory;
  else if (capacity.disk_mb < disk)
    cell.dimension = kDimensionDisk;
  else
    score(position, v, cell, cpu, memory);
}

void GenericStack::score(const Position& position, const GroupView& v, Cell& cell, std::int64_t cpu,
                         std::int64_t memory) {
  const tables::NodeCapacity& capacity = snapshot_->nodes.capacity(position.row);
  const CompiledGroup& group = *v.group;
  cell.fit = kPass;
  cell.has_devices = false;
  cell.devices = 0;
  cell.binpack = rank::fit_component(config_.algorithm, cpu, capacity.cpu_score, memory, capacity.memory_score);
  const std::int32_t same = collisions(position.row, group.name);
  // R-RANK-711: (-1 * (c + 1)) / Count.
  cell.anti_affinity = same > 0 ? (-1.0 * static_cast<double>(same + 1)) / static_cast<double>(group.count) : 0.0;
  cell.affinity = 0;
  cell.prefix = cell.binpack;
  cell.appended = 1;
  if (same > 0) cell.prefix += cell.anti_affinity, ++cell.appended;
  if (!group.affinities.empty()) {  // R-RANK-732
    double sum = 0, matched = 0;
    for (const tables::CompiledAffinity& a : group.affinities) {
      sum += std::abs(static_cast<double>(a.weight));
      if (scratch_.verdicts.holds(*snapshot_, a.constraint, position.row)) matched += static_cast<double>(a.weight);
    }
    cell.affinity = matched / sum;
    cell.prefix += cell.affinity, ++cell.appended;
  }
}

bool GenericStack::rank(std::uint32_t index, GroupView& v, double& final_score) {
  const Position& position = positions_[index];
  Cell& cell = v.cells[index];
  if (cell.fit == kUnknown) decide_fit(position, v, cell);
  if (cell.fit == kFail) {
    if (cell.dimension != kReasonNone) exhaust(position, cell.dimension);
    return false;
  }
  final_score = cell.prefix / static_cast<double>(cell.appended);
  return true;
}

std::optional<Selected> GenericStack::select(std::uint32_t group_index, const SelectOptions& options) {
  options_ = options;
  evaluated_ = filtered_ = exhausted_ = 0;
  reasons_.clear();
  classes_filtered_.clear();
  dimensions_.clear();
  classes_exhausted_.clear();
  top_.clear();
  GroupView& v = view(group_index);
  current_ = &v;
  const CompiledGroup& group = *v.group;
  if (!group.affinities.empty() || !group.spreads.empty() || !job_->spreads.empty())
    limit_ = group.count < config_.node_limit ? config_.node_limit : group.count;  // R-RANK-403; stays raised

  std::uint32_t skipped[3], skip_count = 0, best = kNoRow;
  double skipped_score[3], best_score = 0;
  std::int64_t returned = 0;
  auto consider = [&](std::uint32_t position, double value) {  // R-RANK-421
    ++returned;
    if (best == kNoRow || value > best_score) best = position, best_score = value;
  };
  for (std::uint32_t seen = 0; seen < size_ && returned < limit_; ++seen) {  // R-FEAS-208
    if (offset_ == size_) offset_ = 0;
    const std::uint32_t position = offset_++;
    ++evaluated_;
    if (position >= frontier_) reach(position);
    if (!feasible(position, v)) continue;
    double value;
    if (!rank(position, v, value)) continue;
    top_.push(position, value);
    if (value <= 0.0 && skip_count < 3) {  // R-RANK-411, 412
      skipped[skip_count] = position;
      skipped_score[skip_count++] = value;
      continue;
    }
    consider(position, value);
  }
  for (std::uint32_t i = 0; i < skip_count && returned < limit_; ++i) consider(skipped[i], skipped_score[i]);
  if (best == kNoRow) return std::nullopt;
  Selected out;
  out.node = positions_[best].row;
  out.score = best_score;
  out.shape = config_.memory_oversubscription ? group.shape_oversubscribed : group.shape;
  return out;
}

SelectMetrics GenericStack::take_metrics() {
  SelectMetrics out;
  out.evaluated = evaluated_;
  out.filtered = filtered_;
  out.exhausted = exhausted_;
  out.in_pool = static_cast<std::int32_t>(size_);
  out.base_set = base_set_;
  out.has_pool = true;
  Arena& arena = scratch_.arena;
  out.reasons = arena.copy(std::span<const Count>(reasons_));
  out.classes_filtered = arena.copy(std::span<const Count>(classes_filtered_));
  out.dimensions = arena.copy(std::span<const Count>(dimensions_));
  out.classes_exhausted = arena.copy(std::span<const Count>(classes_exhausted_));
  const auto best = top_.take();
  const std::span<ScoredNode> list = arena.take<ScoredNode>(best.size());
  for (std::size_t i = 0; i < best.size(); ++i) {
    const Position& position = positions_[best[i].id];
    const Cell& cell = current_->cells[best[i].id];
    ScoredNode& node = list[i];
    node = {};
    node.node = position.row;
    node.norm = best[i].score;
    auto log = [&](Component c, double value) {
      node.logged |= static_cast<std::uint8_t>(1u << static_cast<unsigned>(c));
      node.value[static_cast<std::size_t>(c)] = value;
    };
    log(Component::binpack, cell.binpack);
    if (cell.has_devices) log(Component::devices, cell.devices);
    log(Component::anti_affinity, cell.anti_affinity);
    log(Component::penalty, 0);
    log(Component::affinity, cell.affinity);
  }
  out.top = list;
  return out;
}

void GenericStack::placed(const PlannedAlloc& alloc) {
  NodeOverlay& overlay = scratch_.own_overlay(alloc.node);
  const tables::ResourceShape& shape = *alloc.shape;
  overlay.cpu_mhz += shape.cpu_mhz;
  overlay.memory_mb += shape.memory_mb;
  overlay.disk_mb += shape.disk_mb;
  ++overlay.allocs;
  if (shape.ports || shape.devices || !shape.cores.empty()) ++overlay.complex_allocs;
  OwnCount& own = own_count(alloc.node, job_->groups[alloc.group].name);
  ++own.any_namespace;
  ++own.own_namespace;
  const std::uint32_t position = scratch_.mark(alloc.node).position;
  if (position < frontier_)
    for (GroupView& v : views_)
      if (v.group) v.cells[position].fit = kUnknown;
}

void GenericStack::class_map(std::vector<std::pair<std::uint32_t, bool>>& out) const {  // R-FEAS-1701
  out.clear();
  for (std::uint32_t code = 0; code < job_verdicts_.size(); ++code) {
    bool eligible = false, ineligible = false;
    for (const GroupView& v : views_) {
      if (!v.group) continue;
      eligible = eligible || v.verdicts[code] == kEligible;
      ineligible = ineligible || v.verdicts[code] == kIneligible;
    }
    if (job_verdicts_[code] == kIneligible)
      out.emplace_back(code, false);
    else if (eligible || ineligible)
      out.emplace_back(code, eligible);
    else if (job_verdicts_[code] == kEligible)
      out.emplace_back(code, true);
  }
}

bool GenericStack::has_escaped() const {
  if (job_escapes_) return true;
  return std::any_of(job_->groups.begin(), job_->groups.end(), [](const CompiledGroup& g) { return g.escapes; });
}

}  // namespace berth::sched
