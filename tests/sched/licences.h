// A resource kind made up for tests, in one file: licences. A node has one to three. An allocation holds one for every
// 300 MHz that its group requests. Allocations are never evicted for a licence.
#pragma once

#include <algorithm>

#include "sched/node/building.h"
#include "sched/node/resource_kind.h"

namespace berth::sched {

constexpr std::uint32_t kLicenceNeed = 61;

inline std::int64_t licences_on(tables::NodeRow row) { return 1 + row % 3; }
inline std::int64_t licences_for(const tables::CompiledGroup& group) { return group.cpu_mhz / 300; }
inline std::int64_t licences_held(const tables::Snapshot& state, tables::AllocRow alloc) {
  for (const tables::CompiledGroup& group : state.jobs.versions[state.allocs.job[alloc]]->groups)
    if (group.name == state.allocs.group[alloc]) return licences_for(group);
  return 0;
}

inline bool has_licences(Building& building) {
  const Attempt& attempt = building.parts.attempt;
  std::int64_t left = licences_on(building.row) - licences_for(building.group());
  for (const tables::AllocRow alloc : building.parts.proposed.rows) left -= licences_held(*attempt.snapshot, alloc);
  if (const NodeOverlay* const overlay = building.parts.scratch.overlay(building.row))
    for (std::uint32_t i = overlay->first_alloc; i != tables::kNoRow; i = attempt.plan->allocs[i].next_on_node)
      left -= licences_for(attempt.job->groups[attempt.plan->allocs[i].group]);
  return left >= 0 || building.fail("", "licences");
}

inline constexpr ResourceKind kLicences{
    .name = "licences", .enter = has_licences, .examines_all = true, .adds = tables::Needs::of_bit(kLicenceNeed)};

}  // namespace berth::sched
