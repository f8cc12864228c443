// Actions for the broker and the tracker of blocked evaluations after an applied entry (R-CTRL-202, 770, 771, 822 to
// 826). They name rows: carry them out before garbage collection writes its next entry.
#pragma once

#include <string>
#include <vector>

#include "tables/alloc_table.h"

namespace berth::fsm {

enum class HookKind : std::uint8_t {
  enqueue,                  ///< eval: a pending evaluation was written
  block,                    ///< eval: a blocked evaluation was written
  untrack,                  ///< job: one of its evaluations is complete and placed everything
  unblock,                  ///< id = computed class
  unblock_class_and_quota,  ///< node: its computed class; no quota in this edition
  unblock_node,             ///< node
  drop_waiting,             ///< eval: cancelled while it waits (R-CTRL-321)
  drop,                     ///< eval: its job was purged; never with cancelled_evals_linger (R-CTRL-742)
  forget_job,               ///< job: purged, and owns nothing any more; its row may be another job's
};

struct Hook {
  HookKind kind = HookKind::enqueue;
  tables::StoredEvalRow eval = tables::kNoRow;
  tables::JobKeyRow job = tables::kNoRow;
  std::string id;
  std::uint64_t index = 0;  ///< of the unblock
  tables::NodeRow node = tables::kNoRow;
};
using Hooks = std::vector<Hook>;

}  // namespace berth::fsm
