// What a client reports of one allocation, on its way to the log.
#pragma once

#include "tables/state.h"

namespace berth::tables {

struct ClientReport {
  base::Uuid id;          ///< of the allocation: by the time it is written the row may be another's
  AllocRow row = kNoRow;  ///< kNoRow: `object` names it
  NodeRow node = kNoRow;  ///< whose client it is
  Client status = Client::pending;
  std::uint8_t health = 0;       ///< AllocLinks::kHealthy, kUnhealthy or 0
  Reported said;                 ///< its indexes are those of the row
  std::int64_t modify_time = 0;  ///< unix ns
  std::uint32_t object = ~0u;    ///< position of the report as an API object, where it does not fit into a row
};

// To write a report is to touch some thirty cache lines that lie apart, and some are known by what stands in others. So
// the cache is asked for them in steps, each when the lines of the one before have come. Nothing is changed.

/// What the rows' numbers alone tell, `node` kNoRow: not known. When a client is about to report.
void ask_for_rows(const StateStore& store, AllocRow row, NodeRow node);
/// What these rows lead to: when the report is received, to be written with its batch.
void ask_for_neighbours(const StateStore& store, const ClientReport& report);

}  // namespace berth::tables
