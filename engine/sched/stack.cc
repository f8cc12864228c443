#include "sched/stack.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/text.h"

namespace berth::sched {

using tables::CompiledGroup;
using tables::CompiledJob;
using tables::kNoRow;
using tables::NodeRow;
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

void GenericStack::count(std::vector<Count>& counts, std::uint32_t what, std::int32_t times) {
  for (Count& c : counts) {
    if (c.what != what) continue;
    c.count += times;
    return;
  }
  counts.push_back({what, times});
}

void GenericStack::start(const Snapshot& snapshot, PlanRows& plan) {
  snapshot_ = &snapshot;
  plan_ = &plan;
  full_group_ = nullptr;
  no_port_conflicts_ = false;
  fixed_ = scratch_.options.compat == model::Compat::fixed;
  job_ = spread_job_ = nullptr;
  given_.clear();
  names_.clear();
  numbers_.clear();
  probed_ = all_read_ = false;
  for (OtherVersion& other : other_versions_) other.job = nullptr;
  preempted_.clear();
  nodes_ = nullptr;
  size_ = offset_ = frontier_ = 0;
  limit_ = list_limit_ = 2;
  positions_ = scratch_.arena.take<Position>(1);
  for (GroupView& v : views_) v.group = nullptr;
  properties_.begin_attempt(0);
  network_ask_ = {};
  spread_.reset(scratch_.options.quirks);
  spread_group_ = nullptr;
  error_.clear();
  plain_.active = plain_.left = false;
  forget_index();
  empty_class_ = snapshot.nodes.empty_class_code;
  own_counts_.clear();
  missing_resources_.clear();
  port_events_ = 0;
  scratch_.start_attempt(snapshot);
  system_ = false;
  kind_verdicts_.clear();
  last_verdict_ = {};
}

std::uint32_t GenericStack::number_of(tables::Symbol name) {
  for (std::uint32_t number = 0; number < names_.size(); ++number)
    if (names_[number] == name) return number;
  names_.push_back(name);
  return static_cast<std::uint32_t>(names_.size() - 1);
}

std::uint32_t GenericStack::number_in_plan(const PlannedAlloc& alloc) {
  if (alloc.job == kNoRow && given_.size() == 1) return numbers_[alloc.group];
  return number_of(snapshot_->jobs.versions[alloc.job == kNoRow ? plan_->job : alloc.job]->groups[alloc.group].name);
}

void GenericStack::set_job(const CompiledJob& job, const StackConfig& config) {
  if (job_ && job_->version == job.version) return;
  const bool first = !job_;
  if (plain_.active) leave_plain(*current_);
  leave_index();
  const bool met = std::find(given_.begin(), given_.end(), &job) != given_.end();
  if (fixed_ && !first) change_version(*job_, job);
  job_ = &job;
  if (!met) given_.push_back(&job);
  if (config.algorithm != config_.algorithm) fit_memo_valid_ = false;
  config_ = config;
  numbers_.clear();
  for (const CompiledGroup& group : job.groups) numbers_.push_back(number_of(group.name));
  const auto names = static_cast<std::uint32_t>(names_.size());
  if (first) {
    const auto classes =
        static_cast<std::uint32_t>(snapshot_->nodes.column(tables::kComputedClassColumn).values.size() + 1);
    classes_.begin_attempt(classes, names);
    properties_.begin_attempt(names);
  } else {
    plain_.left = true;
    classes_.add_groups(names);
    properties_.add_groups(names);
    for (std::uint32_t i = 0; i < frontier_; ++i) positions_[i].job_checks = kUnknown;
    for (GroupView& v : views_) v.group = nullptr;
    spread_.drop_groups();
    spread_group_ = nullptr;
  }
  classes_.set_job_escapes(job.escapes);
  for (std::uint32_t g = 0; g < job.groups.size(); ++g) classes_.set_group_escapes(numbers_[g], job.groups[g].escapes);
  if (!job.spreads.empty()) spread_job_ = &job;  // R-RANK-215: a version without any leaves the list as it was
  if (!job.distinct_properties.empty() && !(fixed_ && met)) {
    for (feasible::PropertySet& set : properties_.add_job(job.spec->constraints)) count_existing(set);
  }
  if (first && !system_) load_own_allocs();
}

/// fixed: puts what is known of one version away and takes out what is known of the other, nothing at first.
void GenericStack::change_version(const CompiledJob& from, const CompiledJob& to) {
  const auto slot = [&](const CompiledJob* job) {
    return std::find_if(other_versions_.begin(), other_versions_.end(),
                        [&](const OtherVersion& other) { return other.job == job; });
  };
  if (slot(&to) == other_versions_.end()) {
    auto free = slot(nullptr);
    if (free == other_versions_.end()) free = other_versions_.emplace(free);
    free->job = &to;
    free->classes.begin_attempt(
        static_cast<std::uint32_t>(snapshot_->nodes.column(tables::kComputedClassColumn).values.size() + 1), 0);
    free->properties.begin_attempt(0);
  }
  const auto other = slot(&to);
  std::swap(other->classes, classes_);
  std::swap(other->properties, properties_);
  other->job = &from;
}

/// Whether an allocation is one of the job's existing ones, which property sets and spreads count (R-FEAS-1405, 1406,
/// R-RANK-813).
bool GenericStack::is_existing(tables::AllocRow alloc) const {
  const tables::AllocTable& allocs = snapshot_->allocs;
  return job_ && !allocs.terminal(alloc) && allocs.node[alloc] != kNoRow && allocs.job_key[alloc] == job_->key &&
         (allocs.job[alloc] == kNoRow ||
          snapshot_->jobs.versions[allocs.job[alloc]]->spec->create_index == job_->spec->create_index);
}

/// fixed: whether a stop of the plan is the one that ends an existing allocation.
bool GenericStack::takes_away(std::uint32_t stop) const {
  const plan::PlannedStop& planned = plan_->stops[stop];
  if (planned.evict || planned.dropped || !is_existing(planned.alloc)) return false;
  const NodeOverlay* overlay = scratch_.overlay(snapshot_->allocs.node[planned.alloc]);
  if (!overlay || update_on(overlay, planned.alloc)) return false;
  std::uint32_t newest = overlay->first_stop;
  while (newest != kNoRow && (plan_->stops[newest].dropped || plan_->stops[newest].alloc != planned.alloc))
    newest = plan_->stops[newest].next_on_node;
  return newest == stop;
}

std::uint32_t GenericStack::property_code(const match::Target& target, NodeRow row) const {
  if (!snapshot_->nodes.exists(row)) return feasible::PropertySet::kNoValue;  // R-FEAS-1406: a node that is gone
  switch (target.kind) {
    case match::TargetKind::literal:
      return 0;
    case match::TargetKind::unresolved:
      return feasible::PropertySet::kNoValue;
    case match::TargetKind::node_id:
      return row;
    default:
      break;
  }
  const std::uint32_t code = snapshot_->nodes.code(column_of(target), row);
  return code == 0 ? feasible::PropertySet::kNoValue : code;
}

tables::ColumnId GenericStack::column_of(const match::Target& target) const {
  // Every target of a job version was given its column at registration, in the list the property sets are made from.
  for (const CompiledJob* job : given_) {
    for (const tables::CompiledDistinctProperty& p : job->distinct_properties)
      if (p.target.target == target) return p.target.column;
    for (const CompiledGroup& group : job->groups)
      for (const tables::CompiledDistinctProperty& p : group.distinct_properties)
        if (p.target.target == target) return p.target.column;
  }
  BERTH_ASSERT(false);
  return tables::kNameColumn;
}

void GenericStack::count_existing(feasible::PropertySet& set) {  // R-FEAS-1405, 1406
  const tables::AllocTable& allocs = snapshot_->allocs;
  for (tables::AllocRow row = snapshot_->jobs.keys[job_->key].alloc_head; row != kNoRow;
       row = allocs.next_of_job[row]) {
    if (!is_existing(row) || !set.counts_group(number_of(allocs.group[row]))) continue;
    const std::uint32_t code = property_code(set.target(), allocs.node[row]);
    if (code != feasible::PropertySet::kNoValue) set.add_existing(code);
  }
}

/// Calls visit(number of the group, node, +1 for a live allocation placed or written anew, -1 for a stop) for each
/// entry of the plan that spread and distinct_property count (R-FEAS-1405, R-RANK-814): preemptions are none of them.
template <class Visit>
void GenericStack::each_plan_entry(Visit visit) {
  const tables::AllocTable& allocs = snapshot_->allocs;
  for (const PlannedAlloc& alloc : plan_->allocs) visit(number_in_plan(alloc), alloc.node, 1);
  if (fixed_) {  // what exists was counted, updated or not; stops end it once
    for (std::uint32_t i = 0; i < plan_->stops.size(); ++i) {
      const tables::AllocRow alloc = plan_->stops[i].alloc;
      if (takes_away(i)) visit(number_of(allocs.group[alloc]), allocs.node[alloc], -1);
    }
    return;
  }
  for (const plan::PlannedUpdate& update : plan_->updates)
    if (!update.dropped && allocs.node[update.alloc] != kNoRow && !allocs.terminal(update.alloc))
      visit(number_of(allocs.group[update.alloc]), allocs.node[update.alloc], 1);
  for (const plan::PlannedStop& stop : plan_->stops)
    if (!stop.evict && !stop.dropped && allocs.node[stop.alloc] != kNoRow)
      visit(number_of(allocs.group[stop.alloc]), allocs.node[stop.alloc], -1);
}

void GenericStack::prepare_distinct(GroupView& v) {
  if (!v.distinct_built && !v.group->distinct_properties.empty()) {
    v.distinct_built = true;
    for (feasible::PropertySet& set : properties_.add_group(v.number, v.group->spec->constraints)) count_existing(set);
  }
  if (properties_.empty()) return;
  properties_.for_each([&](feasible::PropertySet& set) {
    set.begin_plan();
    each_plan_entry([&](std::uint32_t group, NodeRow node, int change) {
      if (!set.counts_group(group)) return;
      const std::uint32_t code = property_code(set.target(), node);
      if (code == feasible::PropertySet::kNoValue) return;
      if (change > 0)
        set.add_proposed(code);
      else
        set.add_cleared(code);
    });
    set.end_plan(scratch_.options.quirks);
  });
}

bool GenericStack::checks_distinct(const GroupView& v) const {
  return job_->distinct_hosts || v.group->distinct_hosts || !properties_.empty();
}

bool GenericStack::distinct(const Position& position, const GroupView& v) {  // R-FEAS-1313, 1410
  const CompiledGroup& group = *v.group;
  if (job_->distinct_hosts || group.distinct_hosts) {
    std::uint32_t of_job = 0, of_group = 0;
    if (const NodeOverlay* overlay = scratch_.overlay(position.row))
      for (std::uint32_t i = overlay->first_own; i != kNoRow; i = own_counts_[i].next) {
        of_job += static_cast<std::uint32_t>(own_counts_[i].own_namespace);
        if (own_counts_[i].group == group.name) of_group += static_cast<std::uint32_t>(own_counts_[i].own_namespace);
      }
    if (feasible::DistinctHosts{job_->distinct_hosts, group.distinct_hosts}.filters(of_job, of_group)) {
      filter(position, kReasonDistinctHosts);
      return false;
    }
  }
  if (properties_.empty()) return true;
  const feasible::PropertySet* failing = properties_.first_failing(
      v.number, [&](const feasible::PropertySet& set) { return property_code(set.target(), position.row); });
  if (!failing) return true;
  std::string id;
  const match::Target& target = failing->target();
  const bool has_column = !target.is_fixed() && target.kind != match::TargetKind::node_id;
  const match::Side side =
      resolve(*snapshot_, target, has_column ? column_of(target) : tables::kNoColumn, position.row, id);
  filter(position, scratch_.reasons.id(failing->reason(property_code(failing->target(), position.row), side.text)));
  return false;
}

void GenericStack::prepare_spread(GroupView& v) {
  spread_group_ = nullptr;
  const CompiledGroup& group = *v.group;
  if (!spread_job_ && group.spreads.empty()) return;
  spread_group_ = spread_.find(v.number);
  if (!spread_group_) {
    static const std::vector<tables::CompiledSpread> kNone;
    static const std::vector<model::Spread> kNoSpecs;
    spread_properties_.clear();
    for (const auto* list : {spread_job_ ? &spread_job_->spreads : &kNone, &group.spreads})
      for (const tables::CompiledSpread& spread : *list) {
        const ColumnMirror& mirror = scratch_.mirror(*snapshot_, spread.target);
        spread_properties_.push_back({mirror.code_of_row, mirror.text, mirror.ascending});
      }
    spread_group_ = &spread_.prepare(v.number, spread_job_ ? spread_job_->spec->spreads : kNoSpecs, group.spec->spreads,
                                     group.count, spread_properties_);
    const tables::AllocTable& allocs = snapshot_->allocs;
    for (tables::AllocRow row = snapshot_->jobs.keys[job_->key].alloc_head; row != kNoRow;
         row = allocs.next_of_job[row])
      if (allocs.group[row] == group.name && is_existing(row)) spread_group_->count_existing(allocs.node[row]);
    each_plan_entry([&](std::uint32_t number, NodeRow node, int change) {
      if (number != v.number) return;
      if (change > 0)
        spread_group_->count_proposed(node, 1);
      else
        spread_group_->count_cleared(node, 1);
    });
  }
  spread_.begin_select(*spread_group_);
}

Result<void> GenericStack::set_nodes(const ReadyNodes& nodes, std::uint32_t base_set, std::string_view eval_id,
                                     std::size_t placements) {
  nodes_ = &nodes;
  base_set_ = base_set;
  size_ = static_cast<std::uint32_t>(nodes.rows.size());
  offset_ = frontier_ = 0;
  // R-FEAS-216: ceil(log2 n) is the bit length of n - 1.
  limit_ = 2;
  if (!job_->batch && size_ > 0) limit_ = std::max<std::int64_t>(2, std::bit_width(size_ - 1));
  list_limit_ = limit_;
  if (auto done = order_.set(config_.provider, eval_id, order_index_ != 0 ? order_index_ : snapshot_->index, size_,
                             config_.exhaustive ? size_ : placements * static_cast<std::size_t>(limit_));
      !done)
    return done;
  positions_ = scratch_.arena.take<Position>(size_ + 1);
  for (GroupView& v : views_) v.group = nullptr;
  plain_.active = plain_.left = false;
  plain_.count = 0;
  forget_index();
  return {};
}

bool GenericStack::rows_read(std::vector<NodeRow>& out) const {
  if (!job_ || config_.exhaustive || all_read_) return false;
  for (const CompiledGroup& group : job_->groups)
    if (group.has_host_volumes || group.has_csi_volumes) return false;  // claims of other nodes count
  for (std::uint32_t i = 0; i < frontier_; ++i) out.push_back(positions_[i].row);
  for (std::uint32_t i = 0; i < plain_.count; ++i) out.push_back(plain_.row[i]);
  return true;
}

GenericStack::GroupView& GenericStack::view(std::uint32_t group) {
  if (views_.size() <= group) views_.resize(group + 1);
  GroupView& v = views_[group];
  if (v.group != &job_->groups[group]) {
    v.group = &job_->groups[group];
    v.number = numbers_[group];
    v.cells = scratch_.arena.take<Cell>(size_ + 1);
    for (std::uint32_t i = 0; i < frontier_; ++i) v.cells[i].group_checks = v.cells[i].fit = kUnknown;
    v.distinct_built = false;
    v.devices = v.group->has_devices ? feasible::compile_devices(*v.group->spec) : std::vector<match::DeviceRequest>();
    v.network = feasible::compile_network(*v.group->spec);
  }
  return v;
}

/// Nothing is known of the node there yet.
void GenericStack::take_position(std::uint32_t position) {
  const NodeRow row = nodes_->rows[order_.at(position)];
  const tables::NodeCapacity& capacity = snapshot_->nodes.capacity(row);
  positions_[position] = {row, capacity.computed_class_code, capacity.class_code, kUnknown};
  scratch_.mark(row).position = position;
  for (GroupView& v : views_)
    if (v.group) v.cells[position].group_checks = v.cells[position].fit = kUnknown;
}

void GenericStack::reach(std::uint32_t position) {
  take_position(position);
  frontier_ = position + 1;
}

void GenericStack::filter(const Position& position, std::uint32_t reason) {  // R-FEAS-1602
  ++filtered_;
  if (position.node_class != empty_class_) count(classes_filtered_, position.node_class, 1);
  if (reason != kReasonNone) count(reasons_, reason, 1);
}

void GenericStack::exhaust(const Position& position, std::uint32_t dimension) {  // R-RANK-1002
  ++exhausted_;
  if (position.node_class != empty_class_) count(classes_exhausted_, position.node_class, 1);
  if (dimension != kReasonNone) count(dimensions_, dimension, 1);
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
  using feasible::ClassStatus;
  Position& position = positions_[index];
  const std::uint32_t class_id = position.computed_class;
  const ClassStatus job_status = classes_.job_status(class_id);
  if (job_status == ClassStatus::ineligible) {
    filter(position, kReasonClassIneligible);
    return false;
  }
  // The job checks are a pure function of the node; a node that failed them before fails again, reason included.
  if (position.job_checks != kPass && !job_checks(position)) {
    if (job_status != ClassStatus::escaped) classes_.set_job(class_id, false);
    return false;
  }
  if (job_status == ClassStatus::unknown) classes_.set_job(class_id, true);
  const ClassStatus group_status = classes_.group_status(v.number, class_id);
  if (group_status == ClassStatus::ineligible) {
    filter(position, kReasonClassIneligible);
    return false;
  }
  if (fixed_) {
    if (!group_checks_by_node(position, v, v.cells[index], group_status)) return false;
  } else if (group_status != ClassStatus::eligible) {
    Cell& cell = v.cells[index];
    if (cell.group_checks != kPass && !group_checks(position, v, cell)) {
      if (group_status != ClassStatus::escaped) classes_.set_group(v.number, class_id, false);
      return false;
    }
    if (group_status == ClassStatus::unknown) classes_.set_group(v.number, class_id, true);
  }
  return available(position);
}

void GenericStack::load_own_allocs() {
  const tables::AllocTable& allocs = snapshot_->allocs;
  // Every job with this ID, whatever its namespace: anti-affinity does not compare namespaces (R-RANK-711); fixed: it
  // does, and only the job itself counts.
  tables::JobKeyRow key = job_->key;
  do {
    for (tables::AllocRow row = snapshot_->jobs.keys[key].alloc_head; row != kNoRow; row = allocs.next_of_job[row]) {
      if (tables::client_terminal(allocs.client[row]) || allocs.node[row] == kNoRow) continue;
      OwnCount& own = own_count(allocs.node[row], allocs.group[row]);
      ++own.any_namespace;
      if (key == job_->key) ++own.own_namespace;
    }
    key = snapshot_->jobs.keys[key].next_same_id;
  } while (key != job_->key && !fixed_);
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

bool GenericStack::is_special(NodeRow row, const CompiledGroup& group) const {
  if (group.has_network || group.has_task_network || group.has_devices || group.has_cores) return true;
  const tables::NodeUse& use = snapshot_->nodes.use[row];
  if ((use.port_allocs && !no_port_conflicts_) || use.core_allocs || snapshot_->nodes.capacity(row).network_invalid)
    return true;
  const NodeOverlay* overlay = scratch_.overlay(row);
  return overlay && overlay->complex_allocs;
}

void GenericStack::decide_fit(const Position& position, const GroupView& v, Cell& cell) {
  const CompiledGroup& group = *v.group;
  if (is_special(position.row, group)) return decide_fit_special(position, v, cell);
  const tables::NodeUse& use = snapshot_->nodes.use[position.row];
  const tables::NodeCapacity& capacity = snapshot_->nodes.capacity(position.row);
  const NodeOverlay* overlay = scratch_.overlay(position.row);
  const PlainFit fit = plain_fit(capacity, use, overlay ? *overlay : kUntouched, group);
  cell.fit = kFail;
  cell.dimension = fit.dimension;
  if (fit.dimension == kReasonNone) score(position, v, cell, fit.use);
}

double GenericStack::fit_component(std::int64_t cpu, double cpu_capacity, std::int64_t memory, double memory_capacity) {
  const auto key = static_cast<std::uint64_t>(cpu) * 0x9e3779b97f4a7c15ULL ^
                   static_cast<std::uint64_t>(memory) * 0xbf58476d1ce4e5b9ULL;
  FitMemo& memo = fit_memo_[key >> 58];
  if (fit_memo_valid_ && memo.cpu == cpu && memo.memory == memory && memo.cpu_capacity == cpu_capacity &&
      memo.memory_capacity == memory_capacity)
    return memo.component;
  if (!fit_memo_valid_) {
    // An entry that matches nothing: a capacity that is not equal to itself.
    fit_memo_.fill({0, 0, std::numeric_limits<double>::quiet_NaN(), 0, 0});
    fit_memo_valid_ = true;
  }
  memo = {cpu, memory, cpu_capacity, memory_capacity,
          rank::fit_component(config_.algorithm, cpu, cpu_capacity, memory, memory_capacity)};
  return memo.component;
}

/// The fit component of one node by the strategy (R-STRAT-007).
double GenericStack::strategy_component(NodeRow row, const CompiledGroup& group, const FitUse& use,
                                        bool proposed_known) {
  StrategyFit& fit = scratch_.strategy_fit;
  fit.begin(group, job_->priority);
  if (group.has_cores) fit.set_ask_cpu(option_.ask_cpu_mhz);
  const tables::NodeUse& stored = snapshot_->nodes.use[row];
  const NodeOverlay* const overlay = scratch_.overlay(row);
  const std::int64_t allocs = static_cast<std::int64_t>(stored.alloc_count) + (overlay ? overlay->allocs : 0);
  if ((stored.device_allocs > 0 || (overlay && overlay->complex_allocs > 0)) && fit.devices(*snapshot_, row) > 0) {
    if (!proposed_known) proposed_special(row, proposed_);
    fit.add(*snapshot_, row, use, allocs, scratch_.node_devices(snapshot_->nodes.fixed->spec[row]), proposed_);
  } else {
    fit.add(*snapshot_, row, use, allocs);
  }
  return fit.take().front();
}

void GenericStack::score(const Position& position, const GroupView& v, Cell& cell, const FitUse& use,
                         bool proposed_known) {
  const tables::NodeCapacity& capacity = snapshot_->nodes.capacity(position.row);
  const CompiledGroup& group = *v.group;
  cell.fit = kPass;
  cell.has_devices = false;
  cell.devices = 0;
  cell.binpack = scratch_.strategy_fit
                     ? strategy_component(position.row, group, use, proposed_known)
                     : fit_component(use.cpu_mhz, capacity.cpu_score, use.memory_mb, capacity.memory_score);
  cell.affinity = cell.anti_affinity = 0;
  cell.collides = false;
  cell.prefix = cell.binpack;
  cell.appended = 1;
  if (system_) return;  // R-RANK-202
  const std::int32_t same = collisions(position.row, group.name);
  // R-RANK-711: (-1 * (c + 1)) / Count.
  cell.anti_affinity = same > 0 ? (-1.0 * static_cast<double>(same + 1)) / static_cast<double>(group.count) : 0.0;
  cell.collides = same > 0;
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

/// The mean of what a node scores (R-RANK-901); `preemption` is null without victims.
double GenericStack::final_of(std::uint32_t index, const GroupView& v, const Cell& cell, const double* preemption) {
  const Position& position = positions_[index];
  double sum = cell.prefix;
  std::uint32_t appended = cell.appended;
  if (is_penalised(position.row)) {  // R-RANK-721; in stage order it stands before affinity
    sum = cell.binpack;
    if (cell.has_devices) sum += cell.devices;
    if (cell.collides) sum += cell.anti_affinity;
    sum += -1.0;
    if (!v.group->affinities.empty()) sum += cell.affinity;
    ++appended;
  }
  if (spread_group_) {
    const double spread = spread_.score(*spread_group_, position.row);
    spread_total_[index] = spread;
    if (spread != 0.0) sum += spread, ++appended;  // R-RANK-833
  }
  if (preemption) sum += *preemption, ++appended;  // R-PREEMPT-703
  return sum / static_cast<double>(appended);
}

/// False: nothing is placed there. The final score of one that is not among the best so far may be too high.
bool GenericStack::rank(std::uint32_t index, GroupView& v, double& final_score) {
  const Position& position = positions_[index];
  if (v.cells[index].fit == kUnknown) decide_fit(position, v, v.cells[index]);
  const EvictOption* evicting = nullptr;
  if (options_.evict) {
    tables::EvictionBound room;
    if (v.cells[index].fit == kFail) {
      room = room_by_eviction(position.row, snapshot_->nodes.capacity(position.row), *v.group);
      if (is_outdone(index, v, room, final_score)) return true;
    }
    evicting = &decide_evicting(index, v, room);
  }
  const Cell& cell = evicting ? evicting->cell : v.cells[index];
  if (cell.fit == kFail) {
    if (cell.dimension == kDimensionInvalidNode || cell.dimension == kDimensionPortCollision) ++port_events_;
    if (cell.dimension != kReasonNone) exhaust(position, cell.dimension);
    return false;
  }
  final_score = final_of(index, v, cell, evicting && !evicting->victims.empty() ? &evicting->preemption : nullptr);
  return true;
}

GenericStack::GroupView& GenericStack::begin_select(std::uint32_t group_index, const SelectOptions& options) {
  if (fixed_) {
    if (options.evict && !options_.evict) first_pass_reasons_.swap(reasons_);
    limit_ = list_limit_;
    network_ask_ = {};
  }
  options_ = options;
  evict_options_.clear();
  by_index_ = false;
  evaluated_ = filtered_ = exhausted_ = 0;
  reasons_.clear();
  classes_filtered_.clear();
  dimensions_.clear();
  classes_exhausted_.clear();
  top_.clear();
  GroupView& v = view(group_index);
  const CompiledGroup& group = *v.group;
  if (!group.affinities.empty() || !group.spreads.empty() || spread_job_)
    limit_ = group.count < config_.node_limit ? config_.node_limit : group.count;  // R-RANK-403; stays raised
  if (config_.exhaustive) limit_ = std::numeric_limits<std::int64_t>::max();
  if (v.network) network_ask_ = *v.network;
  prepare_distinct(v);
  prepare_volumes(v);
  if (detail_) detail_->enter(base::Stage::rank);
  prepare_spread(v);
  return v;
}

std::optional<Selected> GenericStack::select_one(NodeRow row, std::uint32_t group_index, const SelectOptions& options) {
  if (plain_.active) leave_plain(*current_);
  leave_index();
  probed_ = true;
  detail_ = nullptr;  // part of the stage that asks
  GroupView& v = begin_select(group_index, options);
  current_ = &v;
  if (spread_group_ && spread_total_.size() <= size_) spread_total_.resize(size_ + 1);
  // The node stands behind the candidates, in a position and a cell of its own that are decided anew every time.
  const tables::NodeCapacity& capacity = snapshot_->nodes.capacity(row);
  positions_[size_] = {row, capacity.computed_class_code, capacity.class_code, kUnknown};
  v.cells[size_].group_checks = v.cells[size_].fit = kUnknown;
  evaluated_ = 1;
  double value;
  if (!feasible(size_, v) || (checks_distinct(v) && !distinct(positions_[size_], v)) || !rank(size_, v, value))
    return std::nullopt;
  top_.push(size_, value);
  return chosen(row, value, v, positions_[size_],
                options_.evict ? evict_option(size_).victims : std::span<const tables::AllocRow>());
}

std::optional<Selected> GenericStack::select(std::uint32_t group_index, const SelectOptions& options) {
  detail_ = options.evict ? nullptr : base::detailed_clock();
  const base::StageScope selecting(detail_, base::Stage::filter);
  GroupView& v = begin_select(group_index, options);
  if (index_serves(v))
    if (auto found = select_by_index(v)) return found;  // else a pass counts why there is none
  leave_index();
  const bool was_full = std::exchange(full_group_, nullptr) == v.group;
  if (options.then_evict && full(v)) {
    full_group_ = v.group;
    return std::nullopt;
  }
  if (was_full && options.evict && bounds_serve(v)) {
    plain_.left = true;  // verdicts were given without it
    return select_by_bounds(v);
  }
  if (!plain_.left && plain_group(v, options) && (!spread_group_ || fill_spread_tables())) {
    current_ = &v;
    return select_plain(v);
  }
  if (plain_.active) leave_plain(v);
  plain_.left = true;  // the cursor moves on without it
  return detail_ ? select_general<true>(v) : select_general<false>(v);
}

/// The general path: node by node; with `kDetailed` marking where checks end and scores begin.
template <bool kDetailed>
std::optional<Selected> GenericStack::select_general(GroupView& v) {
  current_ = &v;
  if (spread_group_ && spread_total_.size() <= size_) spread_total_.resize(size_ + 1);
  const bool check_distinct = checks_distinct(v);

  std::uint32_t skipped[kSetAside], skip_count = config_.exhaustive ? kSetAside : 0, best = kNoRow;
  double skipped_score[kSetAside], best_score = 0;
  std::int64_t returned = 0;
  auto consider = [&](std::uint32_t position, double value) {  // R-RANK-421
    ++returned;
    if (best == kNoRow || value > best_score) best = position, best_score = value;
  };
  for (std::uint32_t seen = 0; seen < size_ && returned < limit_; ++seen) {  // R-FEAS-208
    if (offset_ == size_) offset_ = 0;
    const std::uint32_t position = offset_++;
    ++evaluated_;
    if constexpr (kDetailed) detail_->enter(base::Stage::filter);
    if (options_.evict) prefetch_evicting(position);
    if (position >= frontier_) reach(position);
    if (!feasible(position, v)) continue;
    if (check_distinct && !distinct(positions_[position], v)) continue;
    if constexpr (kDetailed) detail_->enter(base::Stage::rank);
    double value;
    if (!rank(position, v, value)) {
      if (!error_.empty()) return std::nullopt;
      continue;
    }
    top_.push(position, value);
    if (value <= 0.0 && skip_count < kSetAside) {  // R-RANK-411, 412
      skipped[skip_count] = position;
      skipped_score[skip_count++] = value;
      continue;
    }
    consider(position, value);
  }
  for (std::uint32_t i = 0; !config_.exhaustive && i < skip_count && returned < limit_; ++i)
    consider(skipped[i], skipped_score[i]);
  if (best == kNoRow) {
    if (fixed_ && options_.evict) reasons_.swap(first_pass_reasons_);
    return std::nullopt;
  }
  std::span<const tables::AllocRow> victims;
  if (options_.evict) victims = evict_option(best).victims;
  return chosen(positions_[best].row, best_score, v, positions_[best], victims);
}

Selected GenericStack::chosen(NodeRow node, double score, const GroupView& v, const Position& position,
                              std::span<const tables::AllocRow> victims) {
  const CompiledGroup& group = *v.group;
  Selected out;
  out.node = node;
  out.score = score;
  out.victims = victims;
  if (is_special(node, group)) {
    evicting_ = !victims.empty();
    [[maybe_unused]] const bool built = build_option(position, v, option_);
    BERTH_ASSERT(built);
    evicting_ = false;
    out.shape = tables::make_shape(std::make_shared<const model::AllocatedResources>(std::move(option_.resources)));
  } else if (config_.memory_oversubscription) {
    out.shape = group.shape_oversubscribed;
  }
  out.held = out.shape ? out.shape.get() : group.shape.get();
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
  out.deferred = by_index_;
  if (by_index_) return out;
  Arena& arena = scratch_.arena;
  // One piece of memory for all four lists of counts.
  std::span<Count> counts =
      arena.take<Count>(reasons_.size() + classes_filtered_.size() + dimensions_.size() + classes_exhausted_.size());
  auto put = [&](const std::vector<Count>& list) {
    std::copy(list.begin(), list.end(), counts.begin());
    const std::span<const Count> out_list = counts.first(list.size());
    counts = counts.subspan(list.size());
    return out_list;
  };
  out.reasons = put(reasons_);
  out.classes_filtered = put(classes_filtered_);
  out.dimensions = put(dimensions_);
  out.classes_exhausted = put(classes_exhausted_);
  const auto best = top_.take();
  const std::span<ScoredNode> list = arena.take<ScoredNode>(best.size());
  double values[rank::TopScores::kCapacity * kComponents];
  std::uint16_t stored = 0;
  for (std::size_t i = 0; i < best.size(); ++i) {
    ScoredNode& node = list[i];
    node = {};
    node.first = stored;
    node.norm = best[i].score;
    if (plain_.active) {
      plain_top(best[i].id, node, values, stored);
      continue;
    }
    const Position& position = positions_[best[i].id];
    const EvictOption* evicting = options_.evict ? &evict_option(best[i].id) : nullptr;
    const Cell& cell = evicting ? evicting->cell : current_->cells[best[i].id];
    node.node = position.row;
    auto log = [&](Component c, double value) { node.log(c, value, values, stored); };
    log(Component::binpack, cell.binpack);
    if (cell.has_devices) log(Component::devices, cell.devices);
    log(Component::anti_affinity, cell.anti_affinity);
    log(Component::penalty, is_penalised(position.row) ? -1 : 0);
    log(Component::affinity, cell.affinity);
    if (spread_group_ && spread_total_[best[i].id] != 0.0) log(Component::spread, spread_total_[best[i].id]);
    if (evicting && !evicting->victims.empty()) log(Component::preemption, evicting->preemption);
  }
  out.values = arena.copy(std::span<const double>(values, stored)).data();
  out.top = list;
  return out;
}

bool GenericStack::is_penalised(NodeRow row) const {
  return std::find(options_.penalty_nodes.begin(), options_.penalty_nodes.end(), row) != options_.penalty_nodes.end();
}

void GenericStack::class_map(std::vector<std::pair<std::uint32_t, bool>>& out) {  // R-FEAS-1701
  if (plain_.active) leave_plain(*current_);
  leave_index();
  out.clear();
  for (const feasible::ClassCache::ClassVerdict& v : classes_.class_map()) out.emplace_back(v.class_id, v.eligible);
  for (const OtherVersion& other : other_versions_) {  // fixed: a class will do when it does for one of the versions
    if (!other.job) continue;
    for (const feasible::ClassCache::ClassVerdict& v : other.classes.class_map()) {
      const auto known = std::find_if(out.begin(), out.end(), [&](const auto& c) { return c.first == v.class_id; });
      if (known == out.end())
        out.emplace_back(v.class_id, v.eligible);
      else
        known->second = known->second || v.eligible;
    }
  }
}

}  // namespace berth::sched
