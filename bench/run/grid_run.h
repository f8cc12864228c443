// Runs the cells of Nomad's own benchmark: one evaluation each, on an empty cluster, compared with Nomad's decision.
#pragma once

#include "run/runner.h"

namespace berth::run {

/// Fills `result.cells`, the counts, latencies and the digest.
[[nodiscard]] Result<void> run_grid(const sim::Workload& workload, const RunOptions& options, RunResult& result);

}  // namespace berth::run
