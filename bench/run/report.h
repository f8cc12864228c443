// Reports of a run: a table for the terminal, JSON, CSV and HdrHistogram's percentile format. The JSON and CSV formats
// are documented in bench/macro/README.md; a change of meaning raises kReportVersion.
#pragma once

#include <string>

#include "base/json.h"
#include "run/result.h"

namespace berth::run {

inline constexpr int kReportVersion = 1;

[[nodiscard]] std::string to_table(const RunResult& result);
[[nodiscard]] json::Value to_json(const RunResult& result);
[[nodiscard]] std::string to_csv(const RunResult& result);
/// Latency of all placements, from due time to commit.
[[nodiscard]] std::string to_hdr(const RunResult& result);

}  // namespace berth::run
