// What the plan so far changes for the Selects that follow: placements, stops and updates of the attempt, kept as an
// overlay per node (R-RANK-501 to 504).
#include <algorithm>

#include "sched/stack.h"

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

/// The node's verdicts of this attempt hold no longer.
void GenericStack::touch(NodeRow row) {
  if (!nodes_) return;  // no Select has looked at candidates yet
  if (indexed_.nodes) indexed_.changed.push_back(row);
  if (plain_.active) leave_plain(*current_);
  plain_.left = true;
  const std::uint32_t position = scratch_.mark(row).position;
  if (position < frontier_)
    for (GroupView& v : views_)
      if (v.group) v.cells[position].fit = kUnknown;
}

void GenericStack::change_use(NodeRow row, const tables::ResourceShape& shape, int sign) {
  NodeOverlay& overlay = scratch_.own_overlay(row);
  overlay.cpu_mhz += sign * shape.cpu_mhz;
  overlay.memory_mb += sign * shape.memory_mb;
  overlay.disk_mb += sign * shape.disk_mb;
}

bool GenericStack::is_own(AllocRow alloc) const {
  if (!job_) return false;
  const tables::JobKeyRow key = snapshot_->allocs.job_key[alloc];
  return fixed_ ? key == job_->key : snapshot_->jobs.keys[key].job_id == job_->job_id;
}

/// Anti-affinity counts jobs of the same ID in all namespaces, distinct_hosts only the job's own (R-RANK-711); fixed:
/// both do.
void GenericStack::count_own(AllocRow alloc, int sign) {
  if (system_ || !is_own(alloc)) return;
  const tables::AllocTable& allocs = snapshot_->allocs;
  OwnCount& own = own_count(allocs.node[alloc], allocs.group[alloc]);
  own.any_namespace += sign;
  if (allocs.job_key[alloc] == job_->key) own.own_namespace += sign;
}

bool GenericStack::leaves(NodeRow row, AllocRow alloc) const {
  const NodeOverlay* overlay = scratch_.overlay(row);
  if (!overlay) return false;
  for (std::uint32_t i = overlay->first_stop; i != kNoRow; i = plan_->stops[i].next_on_node)
    if (plan_->stops[i].alloc == alloc && !plan_->stops[i].dropped) return true;
  return false;
}

const PlannedUpdate* GenericStack::update_on(const NodeOverlay* overlay, AllocRow alloc) const {
  if (!overlay) return nullptr;
  for (std::uint32_t i = overlay->first_update; i != kNoRow; i = plan_->updates[i].next_on_node)
    if (plan_->updates[i].alloc == alloc && !plan_->updates[i].dropped) return &plan_->updates[i];
  return nullptr;
}

PlannedUpdate* GenericStack::update_of(AllocRow alloc) {
  const NodeRow node = snapshot_->allocs.node[alloc];
  if (node != kNoRow) return const_cast<PlannedUpdate*>(update_on(scratch_.overlay(node), alloc));
  for (PlannedUpdate& update : plan_->updates)
    if (update.alloc == alloc && !update.dropped) return &update;
  return nullptr;
}

bool GenericStack::stays(const NodeOverlay* overlay, AllocRow alloc) const {
  if (!overlay || (overlay->first_stop == kNoRow && overlay->first_update == kNoRow)) return true;
  return !leaves(overlay->row, alloc) || update_on(overlay, alloc);
}

/// What a proposed allocation of the snapshot holds once the plan is committed.
const tables::ResourceShape& GenericStack::shape_after(const NodeOverlay* overlay, AllocRow alloc) const {
  const tables::ResourceShape& before = snapshot_->allocs.shape_of(alloc);
  if (!overlay || overlay->first_update == kNoRow) return before;
  const PlannedUpdate* update = update_on(overlay, alloc);
  return update && update->held ? *update->held : before;
}

void GenericStack::stopped(std::uint32_t index) {
  PlannedStop& stop = plan_->stops[index];
  const tables::AllocTable& allocs = snapshot_->allocs;
  const NodeRow node = allocs.node[stop.alloc];
  if (node == kNoRow) return;
  const bool again = leaves(node, stop.alloc);
  const bool listed = update_on(scratch_.overlay(node), stop.alloc) != nullptr;
  NodeOverlay& overlay = scratch_.own_overlay(node);
  stop.next_on_node = overlay.first_stop;
  overlay.first_stop = index;
  if (!fixed_ || (!again && !listed && is_existing(stop.alloc)))
    if (rank::SpreadGroup* group = spread_.find(number_of(allocs.group[stop.alloc]))) group->count_cleared(node, 1);
  if (!again && !listed && !tables::client_terminal(allocs.client[stop.alloc])) {
    change_use(node, allocs.shape_of(stop.alloc), -1);
    --overlay.allocs;
    count_own(stop.alloc, -1);
  }
  touch(node);
}

bool GenericStack::pop_stop(AllocRow alloc) {
  const tables::AllocTable& allocs = snapshot_->allocs;
  const NodeRow node = allocs.node[alloc];
  const bool by_id = scratch_.options.compat == model::Compat::fixed;  // Nomad takes back the last stop of a node only
  const auto is_candidate = [&](const PlannedStop& stop) {
    return !stop.evict && !stop.dropped && (!by_id || stop.alloc == alloc);
  };
  PlannedStop* last = nullptr;
  if (node == kNoRow) {
    // Without a node row there is no chain: the nodes that are gone are few.
    for (PlannedStop& stop : plan_->stops)
      if (allocs.node[stop.alloc] == kNoRow && is_candidate(stop)) last = &stop;
  } else if (const NodeOverlay* overlay = scratch_.overlay(node)) {
    for (std::uint32_t i = overlay->first_stop; i != kNoRow && !last; i = plan_->stops[i].next_on_node)
      if (is_candidate(plan_->stops[i])) last = &plan_->stops[i];
  }
  if (!last || last->alloc != alloc) return false;
  last->dropped = true;
  if (node == kNoRow) return true;
  const bool returns = !leaves(node, alloc) && !update_on(scratch_.overlay(node), alloc);
  if (!fixed_ || (returns && is_existing(alloc)))
    if (rank::SpreadGroup* group = spread_.find(number_of(allocs.group[alloc]))) group->count_cleared(node, -1);
  if (returns && !tables::client_terminal(allocs.client[alloc])) {
    change_use(node, allocs.shape_of(alloc), 1);
    ++scratch_.own_overlay(node).allocs;
    count_own(alloc, 1);
  }
  touch(node);
  return true;
}

void GenericStack::forget_last_stop() {
  const PlannedStop& stop = plan_->stops.back();
  BERTH_ASSERT(stop.dropped);
  if (const NodeRow node = snapshot_->allocs.node[stop.alloc]; node != kNoRow)
    scratch_.own_overlay(node).first_stop = stop.next_on_node;
  plan_->stops.pop_back();
}

void GenericStack::updated(std::uint32_t index) {
  PlannedUpdate& update = plan_->updates[index];
  const tables::AllocTable& allocs = snapshot_->allocs;
  const NodeRow node = allocs.node[update.alloc];
  if (node == kNoRow) return;
  const bool ended = tables::client_terminal(allocs.client[update.alloc]);
  const bool left = leaves(node, update.alloc), counted = !ended && !left;
  // Stopped before by this plan, and listed again: it lives on.
  const bool returns = fixed_ && left && !update_on(scratch_.overlay(node), update.alloc) && is_existing(update.alloc);
  NodeOverlay& overlay = scratch_.own_overlay(node);
  update.next_on_node = overlay.first_update;
  overlay.first_update = index;
  if (fixed_ ? returns : !allocs.terminal(update.alloc))
    if (rank::SpreadGroup* group = spread_.find(number_of(allocs.group[update.alloc]))) {
      if (fixed_)
        group->count_cleared(node, -1);
      else
        group->count_proposed(node, 1);
    }
  const tables::ResourceShape& before = allocs.shape_of(update.alloc);
  const tables::ResourceShape& after = ended ? nothing() : update.held ? *update.held : before;
  if (counted) change_use(node, before, -1);
  change_use(node, after, 1);
  if (!counted) {  // an entry of the plan counts whatever its status (R-RANK-502)
    ++overlay.allocs;
    count_own(update.alloc, 1);
    if (ended) ++scratch_.own_overlay(node).relisted;
  }
  touch(node);
}

void GenericStack::placed(const PlannedAlloc& alloc) {
  NodeOverlay& overlay = scratch_.own_overlay(alloc.node);
  const auto index = static_cast<std::uint32_t>(&alloc - plan_->allocs.data());
  plan_->allocs[index].first_on_node = overlay.first_alloc == kNoRow;
  if (overlay.first_alloc == kNoRow)
    overlay.first_alloc = index;
  else
    plan_->allocs[overlay.last_alloc].next_on_node = index;
  overlay.last_alloc = index;
  if (rank::SpreadGroup* group = spread_.find(number_in_plan(alloc))) group->count_proposed(alloc.node, 1);
  const tables::ResourceShape& shape = *alloc.held;
  overlay.cpu_mhz += shape.cpu_mhz;
  overlay.memory_mb += shape.memory_mb;
  overlay.disk_mb += shape.disk_mb;
  ++overlay.allocs;
  if (shape.ports || shape.devices || !shape.cores.empty()) ++overlay.complex_allocs;
  if (system_) return;
  OwnCount& own = own_count(alloc.node, job_->groups[alloc.group].name);
  ++own.any_namespace;
  ++own.own_namespace;
  if (indexed_.nodes) indexed_.changed.push_back(alloc.node);
  if (plain_.active) {
    BERTH_ASSERT(plain_.row[plain_.chosen] == alloc.node);
    decide_entry(plain_.chosen, *current_);
    reindex(plain_.chosen);
    return;
  }
  const std::uint32_t position = scratch_.mark(alloc.node).position;
  if (position < frontier_)
    for (GroupView& v : views_)
      if (v.group) v.cells[position].fit = kUnknown;
}

}  // namespace berth::sched
