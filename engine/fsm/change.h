// One entry while it is applied; for the files of this folder only.
#pragma once

#include "fsm/state_log.h"

namespace berth::fsm {

struct StateLog::Change {
  tables::Commit& commit;
  const std::uint64_t index = commit.index();
};

}  // namespace berth::fsm
