// One entry while it is applied; for the files of this folder only.
#pragma once

#include "log/state_log.h"

namespace berth::log {

struct StateLog::Change {
  tables::Commit& commit;
  const std::uint64_t index = commit.index();
};

}  // namespace berth::log
