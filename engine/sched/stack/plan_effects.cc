#include "sched/stack/plan_effects.h"

#include <algorithm>
#include <utility>

#include "base/wrap.h"
#include "tables/state.h"

namespace berth::sched {

using plan::PlannedStop;
using plan::PlannedUpdate;
using tables::AllocRow;
using tables::kNoRow;
using tables::NodeRow;

namespace {

const tables::ResourceShape& nothing() {
  static const tables::ResourceShape kNothing;
  return kNothing;
}

}  // namespace

void PlanEffects::start() {
  spread.reset(attempt_.quirks);
  own_counts_.clear();
  if (entries_.empty()) return;
  // clear() visits all buckets: those of an earlier, large plan would cost each later one.
  constexpr std::size_t kFewBuckets = 64;
  if (entries_.bucket_count() > std::max(kFewBuckets, 8 * entries_.size()))
    entries_ = {};
  else
    entries_.clear();
}

void PlanEffects::load_own_allocs() {
  const tables::AllocTable& allocs = attempt_.snapshot->allocs;
  // All jobs with this ID: anti-affinity ignores namespaces (R-RANK-711). Without the quirk only the job itself counts.
  tables::JobKeyRow key = attempt_.job->key;
  do {
    for (tables::AllocRow row = attempt_.snapshot->jobs.keys[key].alloc_head; row != kNoRow;
         row = allocs.next_of_job[row]) {
      if (tables::client_terminal(allocs.client[row]) || allocs.node[row] == kNoRow) continue;
      OwnCount& own = own_count(scratch_.own_overlay(allocs.node[row]), allocs.group[row]);
      ++own.any_namespace;
      if (key == attempt_.job->key) ++own.own_namespace;
    }
    key = attempt_.snapshot->jobs.keys[key].next_same_id;
  } while (key != attempt_.job->key && attempt_.quirks.anti_affinity_ignores_namespace);
}

void PlanEffects::change_use(NodeRow row, const tables::ResourceShape& shape, int sign) {
  NodeOverlay& overlay = scratch_.own_overlay(row);
  base::wrap_add_to(overlay.cpu_mhz, sign * shape.cpu_mhz);
  base::wrap_add_to(overlay.memory_mb, sign * shape.memory_mb);
  base::wrap_add_to(overlay.disk_mb, sign * shape.disk_mb);
}

bool PlanEffects::is_own(AllocRow alloc) const {
  if (!attempt_.job) return false;
  const tables::JobKeyRow key = attempt_.snapshot->allocs.job_key[alloc];
  return attempt_.quirks.anti_affinity_ignores_namespace
             ? attempt_.snapshot->jobs.keys[key].job_id == attempt_.job->job_id
             : key == attempt_.job->key;
}

void PlanEffects::count_own(AllocRow alloc, int sign) {
  if (attempt_.system || !is_own(alloc)) return;
  const tables::AllocTable& allocs = attempt_.snapshot->allocs;
  OwnCount& own = own_count(scratch_.own_overlay(allocs.node[alloc]), allocs.group[alloc]);
  own.any_namespace += sign;
  if (allocs.job_key[alloc] == attempt_.job->key) own.own_namespace += sign;
}

PlanEffects::OwnCount& PlanEffects::own_count(NodeOverlay& overlay, tables::Symbol group) {
  for (std::uint32_t i = overlay.first_own; i != kNoRow; i = own_counts_[i].next)
    if (own_counts_[i].group == group) return own_counts_[i];
  own_counts_.push_back({group, 0, 0, overlay.first_own});
  overlay.first_own = static_cast<std::uint32_t>(own_counts_.size() - 1);
  return own_counts_.back();
}

/// Position of the newest stop of an allocation on a node that was not taken back, or kNoRow.
std::uint32_t PlanEffects::newest_stop(AllocRow alloc) const {
  const auto at = entries_.find(alloc);
  std::uint32_t stop = at == entries_.end() ? kNoRow : at->second.stop;
  while (stop != kNoRow && attempt_.plan->stops[stop].dropped) stop = attempt_.plan->stops[stop].older;
  return stop;
}

bool PlanEffects::leaves(const NodeOverlay* overlay, AllocRow alloc) const {
  return overlay && overlay->first_stop != kNoRow && newest_stop(alloc) != kNoRow;
}

PlannedUpdate* PlanEffects::update_on(const NodeOverlay* overlay, AllocRow alloc) const {
  if (!overlay || overlay->first_update == kNoRow) return nullptr;
  const auto at = entries_.find(alloc);
  std::uint32_t update = at == entries_.end() ? kNoRow : at->second.update;
  while (update != kNoRow && attempt_.plan->updates[update].dropped) update = attempt_.plan->updates[update].older;
  return update == kNoRow ? nullptr : &attempt_.plan->updates[update];
}

PlannedUpdate* PlanEffects::update_of(AllocRow alloc) const {
  const NodeRow node = attempt_.snapshot->allocs.node[alloc];
  if (node != kNoRow) return update_on(scratch_.overlay(node), alloc);
  for (PlannedUpdate& update : attempt_.plan->updates)
    if (update.alloc == alloc && !update.dropped) return &update;
  return nullptr;
}

bool PlanEffects::stays(const NodeOverlay* overlay, AllocRow alloc) const {
  if (!overlay || (overlay->first_stop == kNoRow && overlay->first_update == kNoRow)) return true;
  return !leaves(overlay, alloc) || update_on(overlay, alloc);
}

const tables::ResourceShape& PlanEffects::shape_after(const NodeOverlay* overlay, AllocRow alloc) const {
  const tables::ResourceShape& before = attempt_.snapshot->allocs.shape_of(alloc);
  if (!overlay || overlay->first_update == kNoRow) return before;
  const PlannedUpdate* update = update_on(overlay, alloc);
  return update && update->held ? *update->held : before;
}

bool PlanEffects::takes_away(std::uint32_t stop) const {
  const plan::PlannedStop& planned = attempt_.plan->stops[stop];
  if (planned.evict || planned.dropped || !attempt_.is_existing(planned.alloc)) return false;
  const NodeOverlay* overlay = scratch_.overlay(attempt_.snapshot->allocs.node[planned.alloc]);
  return overlay && !update_on(overlay, planned.alloc) && newest_stop(planned.alloc) == stop;
}

/// Chains the plan's stop or preemption to its node and frees the allocation's resources there. False: the allocation
/// was no longer proposed (R-RANK-501, 502).
bool PlanEffects::leave(std::uint32_t index) {
  PlannedStop& stop = attempt_.plan->stops[index];
  const tables::AllocTable& allocs = attempt_.snapshot->allocs;
  const NodeRow node = allocs.node[stop.alloc];
  NodeOverlay& overlay = scratch_.own_overlay(node);
  const bool was_there = !leaves(&overlay, stop.alloc) && !update_on(&overlay, stop.alloc);
  stop.next_on_node = std::exchange(overlay.first_stop, index);
  stop.older = std::exchange(entries_[stop.alloc].stop, index);
  if (was_there && !tables::client_terminal(allocs.client[stop.alloc])) {
    change_use(node, allocs.shape_of(stop.alloc), -1);
    --overlay.allocs;
    count_own(stop.alloc, -1);
  }
  return was_there;
}

void PlanEffects::stopped(std::uint32_t index) {
  const tables::AllocTable& allocs = attempt_.snapshot->allocs;
  const AllocRow alloc = attempt_.plan->stops[index].alloc;
  const NodeRow node = allocs.node[alloc];
  if (node == kNoRow) return;
  const bool was_there = leave(index);
  if (attempt_.quirks.property_counts_skewed || (was_there && attempt_.is_existing(alloc)))
    if (rank::SpreadGroup* group = spread.find(attempt_.number_of(allocs.group[alloc]))) group->count_cleared(node, 1);
}

bool PlanEffects::pop_stop(AllocRow alloc) {
  const tables::AllocTable& allocs = attempt_.snapshot->allocs;
  const NodeRow node = allocs.node[alloc];
  // Nomad only takes back the last stop of a node.
  const bool by_id = !attempt_.quirks.coalesced_failure_unmarked;
  const auto is_candidate = [&](const PlannedStop& stop) {
    return !stop.evict && !stop.dropped && (!by_id || stop.alloc == alloc);
  };
  PlannedStop* last = nullptr;
  if (node == kNoRow) {
    // Removed nodes are few and have no chain: search all stops, by the node's ID.
    const auto node_id = [&](AllocRow row) {
      return allocs.cold[row] ? std::string_view(allocs.cold[row]->node_id) : std::string_view();
    };
    for (PlannedStop& stop : attempt_.plan->stops)
      if (allocs.node[stop.alloc] == kNoRow && is_candidate(stop) && node_id(stop.alloc) == node_id(alloc))
        last = &stop;
  } else if (const NodeOverlay* overlay = scratch_.overlay(node)) {
    for (std::uint32_t i = overlay->first_stop; i != kNoRow && !last; i = attempt_.plan->stops[i].next_on_node)
      if (is_candidate(attempt_.plan->stops[i])) last = &attempt_.plan->stops[i];
  }
  if (!last || last->alloc != alloc) return false;
  last->dropped = true;
  if (node == kNoRow) return true;
  const NodeOverlay* overlay = scratch_.overlay(node);
  const bool returns = !leaves(overlay, alloc) && !update_on(overlay, alloc);
  if (attempt_.quirks.property_counts_skewed || (returns && attempt_.is_existing(alloc)))
    if (rank::SpreadGroup* group = spread.find(attempt_.number_of(allocs.group[alloc]))) group->count_cleared(node, -1);
  if (returns && !tables::client_terminal(allocs.client[alloc])) {
    change_use(node, allocs.shape_of(alloc), 1);
    ++scratch_.own_overlay(node).allocs;
    count_own(alloc, 1);
  }
  return true;
}

void PlanEffects::forget_last_stop() {
  const PlannedStop& stop = attempt_.plan->stops.back();
  BERTH_ASSERT(stop.dropped);
  if (const NodeRow node = attempt_.snapshot->allocs.node[stop.alloc]; node != kNoRow) {
    scratch_.own_overlay(node).first_stop = stop.next_on_node;
    entries_[stop.alloc].stop = stop.older;
  }
  attempt_.plan->stops.pop_back();
}

void PlanEffects::updated(std::uint32_t index) {
  PlannedUpdate& update = attempt_.plan->updates[index];
  const tables::AllocTable& allocs = attempt_.snapshot->allocs;
  const NodeRow node = allocs.node[update.alloc];
  if (node == kNoRow) return;
  const bool ended = tables::client_terminal(allocs.client[update.alloc]);
  NodeOverlay& overlay = scratch_.own_overlay(node);
  const bool left = leaves(&overlay, update.alloc), counted = !ended && !left;
  // An allocation that this plan stopped and now lists again keeps running.
  const bool skewed = attempt_.quirks.property_counts_skewed;
  const bool returns = !skewed && left && !update_on(&overlay, update.alloc) && attempt_.is_existing(update.alloc);
  update.next_on_node = std::exchange(overlay.first_update, index);
  update.older = std::exchange(entries_[update.alloc].update, index);
  if (skewed ? !allocs.terminal(update.alloc) : returns)
    if (rank::SpreadGroup* group = spread.find(attempt_.number_of(allocs.group[update.alloc]))) {
      if (!skewed)
        group->count_cleared(node, -1);
      else
        group->count_proposed(node, 1);
    }
  const tables::ResourceShape& before = allocs.shape_of(update.alloc);
  const tables::ResourceShape& after = ended ? nothing() : update.held ? *update.held : before;
  if (counted) change_use(node, before, -1);
  change_use(node, after, 1);
  if (!counted) {  // an entry of the plan counts in any status (R-RANK-502)
    ++overlay.allocs;
    count_own(update.alloc, 1);
    if (ended) ++scratch_.own_overlay(node).relisted;
  }
}

void PlanEffects::placed(const PlannedAlloc& alloc) {
  NodeOverlay& overlay = scratch_.own_overlay(alloc.node);
  const auto index = static_cast<std::uint32_t>(&alloc - attempt_.plan->allocs.data());
  attempt_.plan->allocs[index].first_on_node = overlay.first_alloc == kNoRow;
  if (overlay.first_alloc == kNoRow)
    overlay.first_alloc = index;
  else
    attempt_.plan->allocs[overlay.last_alloc].next_on_node = index;
  overlay.last_alloc = index;
  if (rank::SpreadGroup* group = spread.find(attempt_.number_in_plan(alloc))) group->count_proposed(alloc.node, 1);
  const tables::ResourceShape& shape = *alloc.held;
  base::wrap_add_to(overlay.cpu_mhz, shape.cpu_mhz);
  base::wrap_add_to(overlay.memory_mb, shape.memory_mb);
  base::wrap_add_to(overlay.disk_mb, shape.disk_mb);
  ++overlay.allocs;
  if (shape.ports || shape.devices || !shape.cores.empty()) ++overlay.complex_allocs;
  if (attempt_.system) return;
  OwnCount& own = own_count(overlay, attempt_.job->groups[alloc.group].name);
  ++own.any_namespace;
  ++own.own_namespace;
}

void PlanEffects::preempt(NodeRow node, std::span<const AllocRow> victims) {
  PlanRows& plan = *attempt_.plan;
  for (const AllocRow victim : victims) {
    const bool again = leaves(scratch_.overlay(node), victim);  // R-PREEMPT-516
    plan.stops.push_back({.alloc = victim, .evict = true, .by = static_cast<std::uint32_t>(plan.allocs.size())});
    if (!again) leave(static_cast<std::uint32_t>(plan.stops.size() - 1));
  }
}

}  // namespace berth::sched
