// Facts about an allocation row that the watchers read, with or without an API object.
#pragma once

#include "tables/state.h"

namespace berth::lifecycle {

enum class Health : std::uint8_t { unknown, healthy, unhealthy };

/// Visits the node's allocations: first those that have not ended on their client, then the ended ones; unordered
/// within each.
template <class Visit>
void for_each_on_node(const tables::Snapshot& state, tables::NodeRow node, Visit visit) {
  const tables::NodeUse& use = state.nodes.use[node];
  for (const tables::AllocRow head : {use.alloc_head, use.ended_head})
    for (tables::AllocRow row = head; row != tables::kNoRow; row = state.allocs.next_on_node[row]) visit(row);
}
[[nodiscard]] inline const std::string& group_name(const tables::Snapshot& state, tables::AllocRow row) {
  return state.text(state.allocs.group[row]);
}
/// The job version that the allocation was placed with, or null.
[[nodiscard]] inline const model::Job* embedded_job(const tables::Snapshot& state, tables::AllocRow row) {
  const tables::VersionRow job = state.allocs.job[row];
  return job == tables::kNoRow ? nullptr : state.jobs.versions[job]->spec.get();
}
[[nodiscard]] Health health_of(const tables::Snapshot& state, tables::AllocRow row);
/// ModifyIndex of the deployment status of an allocation whose health is known.
[[nodiscard]] std::uint64_t health_index(const tables::Snapshot& state, tables::AllocRow row);
[[nodiscard]] bool is_marked_to_migrate(const tables::Snapshot& state, tables::AllocRow row);
[[nodiscard]] inline bool is_draining(const tables::Snapshot& state, tables::NodeRow node) {
  return node != tables::kNoRow && state.nodes.exists(node) && (state.nodes.state[node] & tables::kDraining);
}
[[nodiscard]] inline bool is_on_draining_node(const tables::Snapshot& state, tables::AllocRow row) {
  return is_draining(state, state.allocs.node[row]);
}
/// Row of the allocation's deployment, or kNoRow.
[[nodiscard]] tables::DeploymentRow deployment_of(const tables::StateStore& store, tables::AllocRow row);

}  // namespace berth::lifecycle
