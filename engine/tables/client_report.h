// What a client reports of one allocation, on its way to the log.
#pragma once

#include "tables/alloc_table.h"

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

}  // namespace berth::tables
