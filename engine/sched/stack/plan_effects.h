// Effects of the plan so far on later Selects of the attempt (R-RANK-501 to 504): placements, stops, updates and
// preemptions, as an overlay per node.
//
//   NodeOverlay  Scratch::overlays, by node row over Scratch::marks: sums, and chains through the plan's entries
//   OwnCount     16 B per (node, group) with proposed allocations of the job, chained per node
//   Entries      by allocation that the plan stops or updates: its newest stop and update, chained to older ones. A
//   node may
//                have thousands of both, and each allocation on it is looked up at each visit.
//   spread       counts of each group's spreads, kept up to date for groups that had a Select
// All are empty at the start of an attempt; load_own_allocs() adds the job's existing allocations.
#pragma once

#include <tsl/robin_map.h>

#include <vector>

#include "rank/spread.h"
#include "sched/stack/attempt.h"

namespace berth::sched {

class PlanEffects {
 public:
  explicit PlanEffects(Attempt& attempt) : attempt_(attempt), scratch_(attempt.scratch) {}

  void start();
  /// Counts the job's allocations per node; not needed by the system stack.
  void load_own_allocs();

  // Call one of these once after each change to the plan.
  void placed(const PlannedAlloc& alloc);
  void stopped(std::uint32_t index);
  void updated(std::uint32_t index);
  /// Takes back the stop of `alloc` if it is the last one on its node (R-SCHED-27); false otherwise.
  bool pop_stop(tables::AllocRow alloc);
  /// Removes the last stop from the plan and from its node's chain. pop_stop() must have taken it back.
  void forget_last_stop();
  /// Adds victims to the plan, for the allocation that is appended next (R-PREEMPT-801).
  void preempt(tables::NodeRow node, std::span<const tables::AllocRow> victims);

  // State of one allocation or node according to the plan.
  [[nodiscard]] bool leaves(const NodeOverlay* overlay, tables::AllocRow alloc) const;  ///< stopped or preempted
  [[nodiscard]] bool stays(const NodeOverlay* overlay, tables::AllocRow alloc) const;   ///< proposed: stays running
  [[nodiscard]] plan::PlannedUpdate* update_on(const NodeOverlay* overlay, tables::AllocRow alloc) const;
  /// The plan's entry for an existing allocation on any node, or null.
  [[nodiscard]] plan::PlannedUpdate* update_of(tables::AllocRow alloc) const;
  /// Resources of a proposed allocation of the snapshot after the plan is committed.
  [[nodiscard]] const tables::ResourceShape& shape_after(const NodeOverlay* overlay, tables::AllocRow alloc) const;
  [[nodiscard]] bool places_on(tables::NodeRow node) const {
    const NodeOverlay* overlay = scratch_.overlay(node);
    return overlay && overlay->first_alloc != tables::kNoRow;
  }
  /// Visits the finished allocations of a node that the plan lists again: they only hold cores and volumes (R-RANK-641,
  /// R-FEAS-1109).
  template <class Visit>
  void each_relisted(tables::NodeRow row, Visit visit) const {
    const NodeOverlay* overlay = scratch_.overlay(row);
    if (!overlay || overlay->relisted == 0) return;
    const std::vector<plan::PlannedUpdate>& updates = attempt_.plan->updates;
    for (std::uint32_t i = overlay->first_update; i != tables::kNoRow; i = updates[i].next_on_node)
      if (!updates[i].dropped && tables::client_terminal(attempt_.snapshot->allocs.client[updates[i].alloc]))
        visit(updates[i].alloc);
  }
  /// Calls visit(group number, node, change) for each entry of the plan that spread and distinct_property count
  /// (R-FEAS-1405, R-RANK-814). The change is +1 for a live allocation placed or updated, -1 for a stop. Preemptions do
  /// not count.
  template <class Visit>
  void each_entry(Visit visit);

  /// The job's proposed allocations on a node. Anti-affinity counts jobs of the same ID in all namespaces,
  /// distinct_hosts only the job itself (R-RANK-711). Without the quirk both count only the job itself.
  struct OwnCount {
    tables::Symbol group = 0;
    std::int32_t any_namespace = 0, own_namespace = 0;
    std::uint32_t next = tables::kNoRow;
  };
  template <class Visit>
  void each_own(tables::NodeRow row, Visit visit) const {
    if (const NodeOverlay* overlay = scratch_.overlay(row))
      for (std::uint32_t i = overlay->first_own; i != tables::kNoRow; i = own_counts_[i].next) visit(own_counts_[i]);
  }
  /// Number of allocations with the group's name that anti-affinity counts.
  [[nodiscard]] std::int32_t collisions(const NodeOverlay* overlay, tables::Symbol group) const {
    if (!overlay) return 0;
    for (std::uint32_t i = overlay->first_own; i != tables::kNoRow; i = own_counts_[i].next)
      if (own_counts_[i].group == group) return own_counts_[i].any_namespace;
    return 0;
  }

  rank::SpreadState spread;

 private:
  /// Positions in the plan's stops and updates.
  struct Entries {
    std::uint32_t stop = tables::kNoRow, update = tables::kNoRow;
  };

  bool leave(std::uint32_t stop);
  [[nodiscard]] std::uint32_t newest_stop(tables::AllocRow alloc) const;
  void change_use(tables::NodeRow row, const tables::ResourceShape& shape, int sign);
  [[nodiscard]] bool is_own(tables::AllocRow alloc) const;
  void count_own(tables::AllocRow alloc, int sign);
  OwnCount& own_count(NodeOverlay& overlay, tables::Symbol group);
  [[nodiscard]] bool takes_away(std::uint32_t stop) const;

  Attempt& attempt_;
  Scratch& scratch_;
  std::vector<OwnCount> own_counts_;
  tsl::robin_map<tables::AllocRow, Entries> entries_;
};

template <class Visit>
void PlanEffects::each_entry(Visit visit) {
  const tables::AllocTable& allocs = attempt_.snapshot->allocs;
  const PlanRows& plan = *attempt_.plan;
  for (const PlannedAlloc& alloc : plan.allocs) visit(attempt_.number_in_plan(alloc), alloc.node, 1);
  if (!attempt_.quirks.property_counts_skewed) {  // existing allocations are counted; a stop ends that once
    for (std::uint32_t i = 0; i < plan.stops.size(); ++i) {
      const tables::AllocRow alloc = plan.stops[i].alloc;
      if (takes_away(i)) visit(attempt_.number_of(allocs.group[alloc]), allocs.node[alloc], -1);
    }
    return;
  }
  for (const plan::PlannedUpdate& update : plan.updates)
    if (!update.dropped && allocs.node[update.alloc] != tables::kNoRow && !allocs.terminal(update.alloc))
      visit(attempt_.number_of(allocs.group[update.alloc]), allocs.node[update.alloc], 1);
  for (const plan::PlannedStop& stop : plan.stops)
    if (!stop.evict && !stop.dropped && allocs.node[stop.alloc] != tables::kNoRow)
      visit(attempt_.number_of(allocs.group[stop.alloc]), allocs.node[stop.alloc], -1);
}

}  // namespace berth::sched
