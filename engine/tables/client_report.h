// A client's report on one allocation, before it is written to the log.
#pragma once

#include "tables/alloc_table.h"

namespace berth::tables {

struct ClientReport {
  base::Uuid id;          ///< of the allocation: the row may have been reused when the report is written
  AllocRow row = kNoRow;  ///< kNoRow: `object` identifies it
  NodeRow node = kNoRow;  ///< the reporting client's node
  Client status = Client::pending;
  std::uint8_t health = 0;       ///< AllocLinks::kHealthy, kUnhealthy or 0
  Reported said;                 ///< its indexes are ignored; the row's apply
  std::int64_t modify_time = 0;  ///< unix ns
  std::uint32_t object = ~0u;    ///< position of the report as an API object, if it does not fit into a row
};

// Writing a report touches some thirty scattered cache lines, and the addresses of some are stored in others. So the
// lines are prefetched in steps, each after the lines of the previous step have arrived. Nothing is changed.

/// Prefetches what depends on the row numbers alone; `node` kNoRow: unknown. Call when a client is about to report.
void prefetch_rows(const StateStore& store, AllocRow row, NodeRow node);
/// Prefetches what these rows refer to. Call when the report is received, before it is written with its batch.
void ask_for_neighbours(const StateStore& store, const ClientReport& report);

}  // namespace berth::tables
