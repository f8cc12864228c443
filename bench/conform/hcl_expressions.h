// Replays recorded HCL expressions: each line has `expr` and either `type` and `value`, or the lines of `parse_errors`
// or `eval_errors`. Numbers have up to 512 bits, so lines are read by HCL's own JSON decoder.
#pragma once

#include <string>
#include <vector>

#include "conform/run.h"

namespace berth::conform {

/// True if the file has the name of such vectors: "expr.jsonl" or "expr.jsonl.gz".
[[nodiscard]] bool has_hcl_expressions(const std::string& path);
[[nodiscard]] Result<FileReport> replay_hcl_expressions(const std::string& path, const RunOptions& options,
                                                        std::vector<KeptDifference>& kept);

}  // namespace berth::conform
