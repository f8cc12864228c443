// Compares each by-state cache of a worker with a fresh fill, row by row.
#pragma once

#include <string>
#include <vector>

#include "tables/state.h"

namespace berth::sched {

struct Scratch;

/// Lists wrong cache entries for `snapshot`, one line each; empty if all are right. Rows that changed since the cache
/// was brought up to date are skipped: the node feed names them when the cache is next used. O(caches x nodes): for
/// debug builds, random simulations and `--shadow`.
[[nodiscard]] std::vector<std::string> check_worker_memory(const tables::Snapshot& snapshot, Scratch& scratch);
/// Runs the check in debug builds on small clusters and aborts on a problem; otherwise does nothing.
void assert_worker_memory(const tables::Snapshot& snapshot, Scratch& scratch);

}  // namespace berth::sched
