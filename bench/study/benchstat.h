// Records of runs in the text format of Go's benchmarks, which benchstat compares.
#pragma once

#include <span>
#include <string>

#include "study/task.h"

namespace berth::study {

/// One line per record: name with workload, label and changed keys as KEY=VALUE parts, 1 iteration, and all measures of
/// the run (bench/run/measures.h) with their units. Before them the direction of each unit and, where it changes,
/// commit, build and machine. Records that do not count are left out. Format: golang.org/design/14313-benchmark-format.
[[nodiscard]] std::string to_benchstat(std::span<const Record> records);

}  // namespace berth::study
