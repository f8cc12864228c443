// Counts of work, summed from the metrics of every placement: nothing is counted per node.
#pragma once

#include "run/result.h"

namespace berth::sched {
struct EvalResult;
}

namespace berth::run {

/// Adds the nodes visited by the placements of a decided evaluation, including failed ones (R-RANK-1001 to 1003).
void add_nodes(const sched::EvalResult& decided, Work& work);

/// Adds all counts of one part of a run.
void add_work(const Work& part, Work& all);

/// SHA-256 of the concatenated contents of these files; "" for none, and if one cannot be read.
[[nodiscard]] std::string sha256_of_files(const std::vector<std::string>& paths);

}  // namespace berth::run
