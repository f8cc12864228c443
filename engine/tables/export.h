// Exports the tables as a ClusterState whose import gives the same tables.
#pragma once

#include "model/cluster.h"
#include "tables/client_report.h"

namespace berth::tables {

/// Everything in row order, without removed nodes. Objects that came as objects are unchanged except for later changes
/// (statuses, eligibility, indexes). A node that shares its spec gets its own ID, name and keys, a plain allocation its
/// name, node name and resources. Costs one copy of every object.
[[nodiscard]] model::ClusterState to_cluster(const Snapshot& state);

/// The node's ID as registered.
[[nodiscard]] std::string node_id(const Snapshot& state, NodeRow row);
[[nodiscard]] model::Node to_node(const Snapshot& state, NodeRow row);
[[nodiscard]] model::Allocation to_alloc(const Snapshot& state, AllocRow row);
/// The ID of an allocation's node. An imported allocation may name a node that the cluster does not have.
[[nodiscard]] std::string node_id_of(const Snapshot& state, AllocRow alloc);
/// Writes the values of a row's columns over those of its API object.
void lay_over(const AllocTable& allocs, AllocRow row, model::Allocation& object);
/// Writes what to_alloc() returns for an allocation without an API object, except its node's name, its resources and
/// the events of its task. `out` must only be written by this function; its memory is reused.
void write_plain(const Snapshot& state, AllocRow row, model::Allocation& out);
/// A report as the update that a client sends (R-CTRL-1534): no namespace, no desired status.
[[nodiscard]] model::Allocation to_update(const Snapshot& state, const ClientReport& report);
/// `<job ID>.<group>[<index>]`, or the name that the allocation came with.
[[nodiscard]] std::string alloc_name(const Snapshot& state, AllocRow row);

}  // namespace berth::tables
