// Conversion between a server's tables and clients: data on a node's allocations, and reports as API objects.
#pragma once

#include <optional>

#include "client/messages.h"
#include "tables/client_report.h"
#include "tables/state.h"

namespace berth::client {

/// Appends the data on one allocation for its client, or the row's deletion. Allocations whose job or group no longer
/// exists are left out: they cannot be run. Call it on the store's writer thread.
void read_alloc(tables::StateStore& store, tables::AllocRow row, ServerAllocs& out);

/// The complete answer to a node's pull (R-CTRL-1501).
void read_node(tables::StateStore& store, tables::NodeRow node, ServerAllocs& out);

/// A report as a row of the server. nullopt if it does not fit into one: several tasks have a state, a remote task has
/// a handle, or the only task succeeded but the allocation has not ended, which schedulers check only in objects.
[[nodiscard]] std::optional<tables::ClientReport> to_row(tables::StateStore& store, tables::NodeRow node,
                                                         const AllocReport& report, const Outbox& out);

/// A report as the update that a client sends (R-CTRL-1534): no namespace, no desired status.
[[nodiscard]] model::Allocation to_update(const tables::Snapshot& state, tables::NodeRow node,
                                          const AllocReport& report, const Outbox& out);

/// Converts a remote task's handle to its form in a task state, and back (R-SEED-12). The base64 of its bytes is forty
/// hex digits.
[[nodiscard]] json::Value to_json(const Handle& handle);
[[nodiscard]] std::optional<Handle> parse_handle(const json::Value& handle);

}  // namespace berth::client
