// The tables as a ClusterState again: what an import would have to read to load the same tables.
#pragma once

#include "model/cluster.h"
#include "tables/client_report.h"
#include "tables/state.h"

namespace berth::tables {

/// Everything in row order, nodes that are gone left out. Objects that came in as objects come out as they were, with
/// what changed since laid over them (statuses, eligibility, indexes); a node that shares its spec gets its own ID,
/// name and keys, a plain allocation its name, node name and resources. Costs one copy of every object.
[[nodiscard]] model::ClusterState to_cluster(const Snapshot& state);

/// The node's ID as it was registered.
[[nodiscard]] std::string node_id(const Snapshot& state, NodeRow row);
[[nodiscard]] model::Node to_node(const Snapshot& state, NodeRow row);
[[nodiscard]] model::Allocation to_alloc(const Snapshot& state, AllocRow row);
/// What the columns of a row say, laid over its API object.
void lay_over(const AllocTable& allocs, AllocRow row, model::Allocation& object);
/// What to_alloc() yields of an allocation without an API object, but for its node's name, its resources and the events
/// of its task; into `out`, which nobody else wrote to, so that its memory is used again and again.
void write_plain(const Snapshot& state, AllocRow row, model::Allocation& out);
/// A report as the update that a client sends (R-CTRL-1534): no namespace, no desired status.
[[nodiscard]] model::Allocation to_update(const Snapshot& state, const ClientReport& report);
/// `<job ID>.<group>[<index>]`, or the name the allocation came with.
[[nodiscard]] std::string alloc_name(const Snapshot& state, AllocRow row);

}  // namespace berth::tables
