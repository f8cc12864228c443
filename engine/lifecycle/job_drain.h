// One check of a job with allocations on draining nodes: which of them to move now (R-CTRL-1022 to 1025).
#pragma once

#include "model/quirks.h"
#include "tables/job_table.h"

namespace berth::lifecycle {

struct JobDrain {
  std::vector<tables::AllocRow> drain;     ///< to be marked for migration now; group order, then allocation ID
  std::vector<tables::AllocRow> migrated;  ///< ended on a draining node since `last_handled`; in the same order
  bool done = false;                       ///< no allocation of the job is left to move
};

/// Checks the allocations of the job `key` under its current definition `job`.
///   last_handled  allocation index up to which migrations were handled before
///   cost          O(groups x allocations of the job)
void look_at_job(const tables::Snapshot& state, const model::Job& job, tables::JobKeyRow key,
                 std::uint64_t last_handled, const model::Quirks& quirks, JobDrain& out);

}  // namespace berth::lifecycle
