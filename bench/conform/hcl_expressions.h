// Replays recorded expressions of HCL: each line has `expr` and either `type` and `value`, or the lines of
// `parse_errors` or `eval_errors`. Numbers there have up to 512 bits, so lines are read by HCL's own decoder of JSON.
#pragma once

#include <string>
#include <vector>

#include "conform/run.h"

namespace berth::conform {

/// Whether the file holds such vectors, by its name: "expr.jsonl" or "expr.jsonl.gz".
[[nodiscard]] bool has_hcl_expressions(const std::string& path);
[[nodiscard]] Result<FileReport> replay_hcl_expressions(const std::string& path, const RunOptions& options,
                                                        std::vector<KeptDifference>& kept);

}  // namespace berth::conform
