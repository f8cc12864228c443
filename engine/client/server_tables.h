// Between a server's tables and clients: what the tables say of a node's allocations, and reports as API objects.
#pragma once

#include <optional>

#include "client/messages.h"
#include "tables/client_report.h"
#include "tables/state.h"

namespace berth::client {

/// Appends what a client is told of one allocation; of a row whose allocation was deleted, that it was. Allocations
/// whose job or group is not there any more are left out: nobody could run them. The store's reader is its writer.
void read_alloc(tables::StateStore& store, tables::AllocRow row, ServerAllocs& out);

/// The complete answer to a node's pull (R-CTRL-1501).
void read_node(tables::StateStore& store, tables::NodeRow node, ServerAllocs& out);

/// A report as a row, as a server takes it. Nothing: it does not fit into one, since several tasks have a state, or a
/// remote task its handle, or since the only task has ended well though the allocation has not: schedulers look for
/// that in objects alone.
[[nodiscard]] std::optional<tables::ClientReport> to_row(tables::StateStore& store, tables::NodeRow node,
                                                         const AllocReport& report, const Outbox& out);

/// A report as the update that a client sends (R-CTRL-1534): no namespace, no desired status.
[[nodiscard]] model::Allocation to_update(const tables::Snapshot& state, tables::NodeRow node,
                                          const AllocReport& report, const Outbox& out);

/// A remote task's handle as it stands in a task state, and back (R-SEED-12). Its bytes are written so that their
/// base64 is forty hex digits.
[[nodiscard]] json::Value to_json(const Handle& handle);
[[nodiscard]] std::optional<Handle> parse_handle(const json::Value& handle);

}  // namespace berth::client
