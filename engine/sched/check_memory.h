// Compares each cache of a worker that is kept by state with a fresh fill, row by row.
#pragma once

#include <string>
#include <vector>

#include "tables/state.h"

namespace berth::sched {

struct Scratch;

/// What a worker has cached of a state that is wrong on `snapshot`, a line each; empty: nothing. A row that changed
/// since the cache was brought up to date is passed over, as the node feed names it when the cache is used again.
/// O(caches x nodes): for debug builds, random lives and `--shadow`.
[[nodiscard]] std::vector<std::string> check_worker_memory(const tables::Snapshot& snapshot, Scratch& scratch);
/// The same in debug builds of small clusters, where a problem ends the program; else nothing.
void assert_worker_memory(const tables::Snapshot& snapshot, Scratch& scratch);

}  // namespace berth::sched
