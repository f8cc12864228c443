// One entry while it is applied; for the files of this folder only.
#pragma once

#include "log/state_log.h"

namespace berth::log {

struct StateLog::Change {
  tables::Commit commit;
  std::uint64_t index;
};

}  // namespace berth::log
