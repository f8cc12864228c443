// Counts of work, summed from what every placement carries with it anyway: nothing is counted per node.
#pragma once

#include "run/result.h"

namespace berth::sched {
struct EvalResult;
}

namespace berth::run {

/// Adds the nodes that the placements of one decided evaluation met, failed ones included (R-RANK-1001 to 1003).
void add_nodes(const sched::EvalResult& decided, Work& work);

/// Adds all counts of one part of a run.
void add_work(const Work& part, Work& all);

/// SHA-256 of the contents of these files one after the other; "" for none, and for files that cannot be read.
[[nodiscard]] std::string sha256_of_files(const std::vector<std::string>& paths);

}  // namespace berth::run
