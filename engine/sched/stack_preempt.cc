// Evict mode of a Select (R-PREEMPT-101 to 109, 301 to 305, 703): what happens on a node on which the group does not
// fit, and what becomes of the victims of the chosen node.
//
// A node's shared cell says whether the group fits as things are; it stays as it is. Where it does not, the bin-pack
// stage is gone through again with `evicting_` set: each attempt that fails takes victims from the node's proposed
// allocations and is made again. What came out is kept for this Select only.
#include <algorithm>

#include "rank/components.h"
#include "sched/stack.h"

namespace berth::sched {

using tables::AllocRow;
using tables::CompiledGroup;
using tables::kNoRow;
using tables::NodeRow;

/// The job's priority as the search for victims sees it, which knows only Nomad's delta (R-SEED-80).
std::int64_t GenericStack::evicting_priority() const {
  return job_->priority + preempt::kMinPriorityDelta - scratch_.options.preemption_min_delta;
}

/// Whether checks tell no nodes of one computed class apart, and what fits follows from what a node has free alone.
bool GenericStack::is_plain_ask(const GroupView& v) const {
  const tables::CompiledGroup& group = *v.group;
  const tables::NodeTable& nodes = snapshot_->nodes;
  return !group.has_network && !group.has_task_network && !group.has_devices && !group.has_cores &&
         network_ask_.is_default() &&  // another version's group may have left one (R-FEAS-309)
         nodes.classes_exact && nodes.class_profiles_exact && nodes.special_allocs == 0 && nodes.invalid_nodes == 0;
}

/// Whether what a node has free decides for most asks that fail, and classes tell all that checks read.
bool GenericStack::fails_by_figures(const GroupView& v) const {
  const tables::NodeTable& nodes = snapshot_->nodes;
  return !v.group->has_devices && network_ask_.ports.empty() && (v.network || network_ask_.is_default()) &&
         nodes.classes_exact && nodes.class_profiles_exact && nodes.invalid_nodes == 0;
}

/// Whether no node's ports make a pass leave anything behind where no node has room: no event of a collision
/// (R-RANK-608), no error (R-RANK-618).
bool GenericStack::ports_are_silent(const GroupView& v) {
  if (snapshot_->nodes.special_allocs == 0 && !v.group->has_network && !v.group->has_task_network) return true;
  for (const NodeOverlay& overlay : scratch_.overlays) {
    if (overlay.first_update != kNoRow) return false;  // may have changed what it holds
    if (overlay.complex_allocs == 0) continue;         // who leaves makes nobody collide
    proposed_special(overlay.row, proposed_);
    if (ports_collide(scratch_.node_ports(snapshot_->nodes.fixed->spec[overlay.row]))) return false;
  }
  if (!no_port_conflicts_) no_port_conflicts_ = !scratch_.port_conflicts.any(*snapshot_, scratch_);
  return no_port_conflicts_;
}

/// Whether it is plain to see that no candidate has room, from the columns of what is free. A pass without eviction
/// then finds nothing, and all that it leaves behind is what give_class_verdicts() gives. False says nothing.
bool GenericStack::full(GroupView& v) {
  const tables::CompiledGroup& group = *v.group;
  const tables::NodeTable& nodes = snapshot_->nodes;
  SelectOptions options = options_;
  options.evict = false;
  if (!plain_group(v, options) || !fails_by_figures(v)) return false;
  const auto may_take = [&](NodeRow row) {
    if ((nodes_->members[row / 64] >> row % 64 & 1) == 0) return false;
    const tables::NodeCapacity& capacity = nodes.capacity(row);
    const NodeOverlay* overlay = scratch_.overlay(row);
    if (plain_fit(capacity, nodes.use[row], overlay ? *overlay : kUntouched, group).dimension != kReasonNone)
      return false;
    return first_failing_known({row, capacity.computed_class_code, capacity.class_code, kUnknown}, v) == kReasonNone;
  };
  for (const NodeOverlay& overlay : scratch_.overlays)
    if (may_take(overlay.row)) return false;
  // Rounding keeps the order: what is enough stays enough in single precision.
  const auto cpu = static_cast<float>(group.cpu_mhz), memory = static_cast<float>(group.memory_mb),
             disk = static_cast<float>(group.disk_mb);
  // By vector, and in most chunks of a full cluster one column is enough.
  const auto some_hold = [](std::span<const float> free, float ask) {
    std::uint32_t some = 0;
    for (const float f : free) some |= static_cast<std::uint32_t>(f >= ask);
    return some != 0;
  };
  const tables::FitColumns& fit = nodes.fit;
  for (std::size_t chunk = 0; chunk < fit.cpu_free.chunk_count(); ++chunk) {
    const std::span<const float> cpus = fit.cpu_free.chunk_at(chunk), memories = fit.memory_free.chunk_at(chunk),
                                 disks = fit.disk_free.chunk_at(chunk);
    if (!some_hold(cpus, cpu) || !some_hold(memories, memory) || !some_hold(disks, disk)) continue;
    for (std::size_t i = 0; i < cpus.size(); ++i)
      if (cpus[i] >= cpu && memories[i] >= memory && disks[i] >= disk &&
          may_take(static_cast<NodeRow>(chunk * decltype(fit.cpu_free)::kChunkRows + i)))
        return false;
  }
  // fixed: what this pass would find failing is told by the next one as well (R-FEAS-1605).
  if (fixed_ && std::any_of(nodes_->of_class.begin(), nodes_->of_class.end(), [&](const ReadyNodes::Candidate& c) {
        return first_failing_known({c.row, c.computed_class, c.node_class, kUnknown}, v) != kReasonNone;
      }))
    return false;
  if (!ports_are_silent(v)) return false;
  all_read_ = true;
  if (plain_.active) leave_plain(v);
  give_class_verdicts(v);
  return true;
}

/// What a pass over all candidates leaves behind for later Selects where the nodes of a class cannot be told apart: the
/// verdicts of their classes (R-FEAS-410), from one node of each.
void GenericStack::give_class_verdicts(GroupView& v) {
  for (const ReadyNodes::Candidate& candidate : nodes_->of_class) {
    const std::uint32_t class_id = candidate.computed_class;
    if (classes_.job_status(class_id) == feasible::ClassStatus::ineligible ||
        classes_.group_status(v.number, class_id) != feasible::ClassStatus::unknown)
      continue;
    const bool job_passes =
        std::all_of(job_->constraints.begin(), job_->constraints.end(),
                    [&](tables::ConstraintId id) { return scratch_.verdicts.holds(*snapshot_, id, candidate.row); });
    classes_.set_job(class_id, job_passes);
    if (job_passes) classes_.set_group(v.number, class_id, first_failing_group_check(candidate.row, v) == kReasonNone);
  }
}

bool GenericStack::has_preemptible(NodeRow row) const {  // R-PREEMPT-202 to 204
  const tables::AllocTable& allocs = snapshot_->allocs;
  if (snapshot_->nodes.use[row].least_priority > highest_evicted()) return false;
  // Without an overlay the plan stops nobody here, and nothing here is the job's own (load_own_allocs()).
  if (!system_ && !scratch_.overlay(row)) return true;
  for (AllocRow a = snapshot_->nodes.use[row].alloc_head; a != kNoRow; a = allocs.next_on_node[a]) {
    if (allocs.job_key[a] == job_->key || allocs.job[a] == kNoRow) continue;
    if (job_->priority - snapshot_->jobs.versions[allocs.job[a]]->priority >= scratch_.options.preemption_min_delta &&
        !leaves(row, a))
      return true;
  }
  return false;
}

/// Asks for what choosing victims reads of an allocation.
void GenericStack::prefetch_alloc(AllocRow alloc) const {
  const tables::AllocTable& allocs = snapshot_->allocs;
  allocs.id.prefetch(alloc);
  allocs.shape.prefetch(alloc);
  allocs.job.prefetch(alloc);
  allocs.job_key.prefetch(alloc);
}

/// Asks for what the visits of the next nodes begin with.
void GenericStack::prefetch_evicting(std::uint32_t position) {
  const auto row_at = [&](std::uint32_t p) { return nodes_->rows[order_.at(p < size_ ? p : p - size_)]; };
  if (size_ < 4) return;
  const tables::NodeTable& nodes = snapshot_->nodes;
  const NodeRow later = row_at(position + 2), next = row_at(position + 1);
  nodes.use.prefetch(later);
  if (!nodes.eviction.empty()) nodes.eviction.prefetch(later);
  nodes.fixed->capacity.prefetch(later);
  if (const AllocRow head = nodes.use[next].alloc_head; head != kNoRow) {
    snapshot_->allocs.next_on_node.prefetch(head);
    prefetch_alloc(head);
  }
}

/// Candidates from the proposed allocations as they are now (R-PREEMPT-202, 305). What the plan places belongs to the
/// job itself, so only rows of the snapshot come into question.
void GenericStack::collect_candidates() {
  const tables::AllocTable& allocs = snapshot_->allocs;
  candidates_.clear();
  candidate_rows_.clear();
  for (std::size_t i = 0; i < by_id_.size(); ++i) {
    const AllocRow a = by_id_[i];
    if (allocs.job_key[a] == job_->key) continue;
    const tables::ResourceShape& shape = *proposed_[i];  // never the job's own: as stored
    preempt::Candidate& c = candidates_.emplace_back();
    c.cpu_mhz = shape.cpu_mhz;
    c.memory_mb = shape.memory_mb;
    c.disk_mb = shape.disk_mb;
    c.cores = &shape.cores;
    c.resources = shape.resources.get();
    c.has_job = allocs.job[a] != kNoRow;
    if (c.has_job) c.priority = snapshot_->jobs.versions[allocs.job[a]]->priority;
    if (fixed_ && c.has_job) count_preempted(a, c);
    candidate_rows_.push_back(a);
  }
}

/// What R-PREEMPT-413 asks of a candidate. In Nomad the plan's entries name no group, so nobody is ever over the limit
/// (R-PREEMPT-414); here they count under the victim's group.
void GenericStack::count_preempted(AllocRow alloc, preempt::Candidate& candidate) const {
  const tables::AllocTable& allocs = snapshot_->allocs;
  const auto& groups = snapshot_->jobs.versions[allocs.job[alloc]]->groups;
  const auto group = std::find_if(groups.begin(), groups.end(),
                                  [&](const tables::CompiledGroup& g) { return g.name == allocs.group[alloc]; });
  if (group == groups.end() || !group->spec->migrate || group->spec->migrate->max_parallel <= 0) return;
  candidate.max_parallel = group->spec->migrate->max_parallel;
  const auto known = preempted_.find({allocs.job_key[alloc], allocs.group[alloc]});
  if (known != preempted_.end()) candidate.preempted = known->second;
}

/// Appends the chosen candidates to V and takes them out of the proposed allocations (R-PREEMPT-303).
bool GenericStack::take_victims() {
  if (chosen_.empty()) return false;
  for (const std::uint32_t c : chosen_) victims_.push_back(candidate_rows_[c]);
  std::size_t kept = 0;
  const std::size_t rows = by_id_.size();
  for (std::size_t i = 0; i < proposed_.size(); ++i) {
    if (i < rows && std::find(victims_.begin(), victims_.end(), by_id_[i]) != victims_.end()) continue;
    if (i < rows) by_id_[kept] = by_id_[i];
    proposed_[kept++] = proposed_[i];
  }
  by_id_.resize(rows - (proposed_.size() - kept));
  proposed_.resize(kept);
  return true;
}

bool GenericStack::evict_for_network(const model::NetworkResource& ask, const rank::NodePorts& ports,
                                     const Option& option) {
  collect_candidates();
  chosen_.clear();
  rank::NetworkIndex& index = scratch_.network_index;
  preempt::choose_for_network(evicting_priority(), ask, index, candidates_, preempt_scratch_, chosen_,
                              scratch_.options.quirks);
  if (!take_victims()) return false;
  index.start(ports);  // R-PREEMPT-515: without what this option had reserved
  for (const tables::ResourceShape* shape : proposed_)
    if (shape->ports) index.add(*shape->resources, "");
  if (!fixed_) return true;
  if (!option.resources.shared.ports.empty()) index.add_ports(option.resources.shared.ports);
  for (const auto& [name, task] : option.resources.tasks)
    for (const model::NetworkResource& network : task.networks) index.add_network(network);
  return true;
}

bool GenericStack::evict_for_device(const match::DeviceRequest& request, NodeRow row, const Option& option,
                                    const model::AllocatedTask& task) {
  collect_candidates();
  chosen_.clear();
  if (!preempt::choose_for_device(evicting_priority(), request, *accounter_, candidates_, scratch_.patterns,
                                  preempt_scratch_, chosen_, scratch_.options.quirks))
    return false;  // a compared NaN: the offer before met it, too
  if (!take_victims()) return false;
  start_accounter(row);  // R-PREEMPT-607, 608: without what this option had reserved
  if (!fixed_) return true;
  for (const auto& [name, earlier] : option.resources.tasks)
    for (const model::AllocatedDevice& device : earlier.devices) accounter_->add(device);
  for (const model::AllocatedDevice& device : task.devices) accounter_->add(device);
  return true;
}

bool GenericStack::evict_for_resources(NodeRow row, const model::FlatResources& ask, const model::FlatResources& room) {
  collect_candidates();
  chosen_.clear();
  if (!fixed_) {
    preempt::choose_for_resources(evicting_priority(), room, ask, candidates_, preempt_scratch_, chosen_);
  } else {
    // The job's own allocations use the room as well (R-PREEMPT-403), and nobody goes for nothing (R-PREEMPT-406): as
    // many as are over the node's limit, none where all is covered.
    model::FlatResources left = room;
    for (std::size_t i = 0; i < proposed_.size(); ++i) {
      if (i < by_id_.size() && snapshot_->allocs.job_key[by_id_[i]] != job_->key) continue;
      left.cpu_mhz -= proposed_[i]->cpu_mhz;
      left.memory_mb -= proposed_[i]->memory_mb;
      left.disk_mb -= proposed_[i]->disk_mb;
      model::remove_cores(left.cores, proposed_[i]->cores);
    }
    const std::int64_t limit = snapshot_->nodes.capacity(row).max_allocs;
    const std::int64_t surplus = limit == 0 ? 0 : static_cast<std::int64_t>(proposed_.size()) + 1 - limit;
    preempt::choose_for_resources(evicting_priority(), left, ask, candidates_, preempt_scratch_, chosen_, surplus);
  }
  for (const std::uint32_t c : chosen_) victims_.push_back(candidate_rows_[c]);
  return !chosen_.empty();
}

/// Use of the node beside the option being built, once V has left: what R-RANK-647 does not compute.
void GenericStack::sum_staying(FitUse& use) const {
  for (std::size_t i = 0; i < proposed_.size(); ++i) {
    if (i < by_id_.size() && std::find(victims_.begin(), victims_.end(), by_id_[i]) != victims_.end()) continue;
    use.cpu_mhz += proposed_[i]->cpu_mhz, use.memory_mb += proposed_[i]->memory_mb;
    use.disk_mb += proposed_[i]->disk_mb;
  }
}

/// As decide_fit for a group without ports, devices and cores on a node where nobody holds any.
void GenericStack::evict_plain(const Position& position, const GroupView& v, Cell& cell) {
  const tables::NodeCapacity& capacity = snapshot_->nodes.capacity(position.row);
  proposed(position.row, proposed_);
  victims_.clear();
  model::FlatResources room, ask;
  room.cpu_mhz = capacity.cpu_mhz, room.memory_mb = capacity.memory_mb, room.disk_mb = capacity.disk_mb;
  ask.cpu_mhz = v.group->cpu_mhz, ask.memory_mb = v.group->memory_mb, ask.disk_mb = v.group->disk_mb;
  if (!evict_for_resources(position.row, ask, room)) return;
  // R-RANK-647: the use that did not fit, victims included; after too many allocations it was never summed.
  FitUse use;
  if (fixed_) {
    use = {ask.cpu_mhz, ask.memory_mb, ask.disk_mb};
    sum_staying(use);
  } else if (cell.dimension != kDimensionMaxAllocs) {
    use = {ask.cpu_mhz, ask.memory_mb, ask.disk_mb};
    for (const tables::ResourceShape* shape : proposed_)
      use.cpu_mhz += shape->cpu_mhz, use.memory_mb += shape->memory_mb, use.disk_mb += shape->disk_mb;
  }
  score(position, v, cell, use, true);
}

/// What eviction can do on a node for a plain group, from the node's figures alone (R-PREEMPT-403 to 407).
tables::EvictionBound GenericStack::room_by_eviction(NodeRow row, const tables::NodeCapacity& capacity,
                                                     const CompiledGroup& group) const {
  const tables::NodeTable& nodes = snapshot_->nodes;
  // With an overlay, some of what runs is the job's own or is leaving already; a system job's own have none.
  if (fixed_ || !config_.plain_path || scratch_.overlay(row) || is_special(row, group) ||
      (system_ && snapshot_->jobs.keys[job_->key].alloc_head != kNoRow))
    return {};
  const tables::NodeUse& use = nodes.use[row];
  return bound_eviction(nodes.eviction_levels(row), free_of(capacity, use),
                        {group.cpu_mhz, group.memory_mb, group.disk_mb}, highest_evicted(), use.least_priority,
                        use.most_priority);
}

/// The highest priority that may be evicted (R-PREEMPT-204, R-SEED-80).
std::int64_t GenericStack::highest_evicted() const { return job_->priority - scratch_.options.preemption_min_delta; }

/// A preemption score that no choice of victims exceeds of which one has the priority of `room` or a higher one, which
/// are as many, and of which none has less than `least`. The net priority (R-PREEMPT-701) of q, the highest, and k - 1
/// of priority p is q + (q + (k - 1) p) / q, which grows with k, and with q as long as (k - 1) p is below q^2; up to
/// half of that is used, so that a step of q by 1 is worth more than any rounding.
double GenericStack::best_preemption(const tables::EvictionBound& room, std::int32_t least) {
  const std::int64_t highest = room.priority;
  const std::int64_t others = room.victims == 1 ? 0 : std::min(room.victims - 1, highest * highest / 2 / least);
  const std::int64_t sum = highest + others * least;
  const auto key = static_cast<std::uint64_t>(highest) * 0x9e3779b97f4a7c15ULL ^
                   static_cast<std::uint64_t>(sum) * 0xbf58476d1ce4e5b9ULL;
  static_assert(std::tuple_size_v<decltype(preemption_memo_)> == 256);
  PreemptionMemo& memo = preemption_memo_[key >> 56];
  if (memo.highest != highest || memo.sum != sum)
    memo = {
        highest, sum,
        rank::preemption_score(static_cast<double>(highest) + static_cast<double>(sum) / static_cast<double>(highest))};
  return memo.score;
}

/// Whether eviction is sure to make room on the node, and yet the option is behind those that are listed so far,
/// whoever goes. `bound` is a score the option does not exceed: binpack counts the victims (R-RANK-647), and none are
/// better to evict than best_preemption() says. Where a score of 0 or less would be set aside (R-RANK-411), only for
/// options that are sure to be above.
bool GenericStack::is_outdone(std::uint32_t index, const GroupView& v, const tables::EvictionBound& room,
                              double& bound) {
  const Position& position = positions_[index];
  const CompiledGroup& group = *v.group;
  const tables::NodeUse& use = snapshot_->nodes.use[position.row];
  if (room.room != tables::Room::sure || top_.size() < rank::TopScores::kCapacity || use.least_priority < 1)
    return false;
  Cell cell = v.cells[index];
  if (cell.dimension == kDimensionMaxAllocs)
    score(position, v, cell, {});
  else
    score(position, v, cell,
          {use.cpu_mhz + group.cpu_mhz, use.memory_mb + group.memory_mb, use.disk_mb + group.disk_mb});
  const bool sure_above_zero = cell.binpack > 0 && cell.appended == 1 && !spread_group_ && !is_penalised(position.row);
  if (!config_.exhaustive && !sure_above_zero) return false;
  const double preemption = best_preemption(room, use.least_priority);
  bound = final_of(index, v, cell, &preemption);
  return !top_.would_keep(bound);
}

const GenericStack::EvictOption& GenericStack::decide_evicting(std::uint32_t index, const GroupView& v,
                                                               const tables::EvictionBound& room) {
  const Position& position = positions_[index];
  EvictOption& option = evict_options_.emplace_back();
  option.position = index;
  option.cell = v.cells[index];
  if (option.cell.fit != kFail || room.room == tables::Room::none || !error_.empty() || !has_preemptible(position.row))
    return option;
  if (is_special(position.row, *v.group)) {
    evicting_ = true;
    decide_fit_special(position, v, option.cell);
    evicting_ = false;
  } else {
    evict_plain(position, v, option.cell);
  }
  if (option.cell.fit == kFail || victims_.empty()) return option;
  option.victims = scratch_.arena.copy(std::span<const AllocRow>(victims_));
  std::vector<std::int64_t>& priorities = preempt_scratch_.counts;
  priorities.clear();
  for (const AllocRow a : option.victims)
    priorities.push_back(snapshot_->jobs.versions[snapshot_->allocs.job[a]]->priority);
  option.preemption = rank::preemption_score(rank::net_priority(priorities));
  return option;
}

const GenericStack::EvictOption& GenericStack::evict_option(std::uint32_t position) const {
  const auto found = std::find_if(evict_options_.begin(), evict_options_.end(),
                                  [&](const EvictOption& option) { return option.position == position; });
  BERTH_ASSERT(found != evict_options_.end());
  return *found;
}

void GenericStack::preempt(const Selected& selected) {
  const tables::AllocTable& allocs = snapshot_->allocs;
  for (const AllocRow victim : selected.victims) {
    const auto index = static_cast<std::uint32_t>(plan_->stops.size());
    const bool again = leaves(selected.node, victim);  // R-PREEMPT-516
    plan_->stops.push_back({.alloc = victim, .evict = true, .by = static_cast<std::uint32_t>(plan_->allocs.size())});
    if (fixed_) ++preempted_[{allocs.job_key[victim], allocs.group[victim]}];
    if (again) continue;
    NodeOverlay& overlay = scratch_.own_overlay(selected.node);
    plan_->stops[index].next_on_node = overlay.first_stop;
    overlay.first_stop = index;
    const tables::ResourceShape& shape = allocs.shape_of(victim);
    overlay.cpu_mhz -= shape.cpu_mhz;
    overlay.memory_mb -= shape.memory_mb;
    overlay.disk_mb -= shape.disk_mb;
    --overlay.allocs;
    // Never the job's own, but anti-affinity counts jobs of the same ID in other namespaces (R-RANK-711).
    if (!system_ && !fixed_ && snapshot_->jobs.keys[allocs.job_key[victim]].job_id == job_->job_id)
      --own_count(selected.node, allocs.group[victim]).any_namespace;
  }
}

}  // namespace berth::sched
