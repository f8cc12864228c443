// Reports of a run: a table for the terminal, JSON, CSV and HdrHistogram's percentile format. The JSON and CSV formats
// are documented in bench/macro/README.md; a change of meaning raises kReportVersion.
#pragma once

#include <string>

#include "base/retained_json.h"
#include "run/result.h"

namespace berth::run {

inline constexpr int kReportVersion = 1;

[[nodiscard]] std::string to_table(const RunResult& result);
[[nodiscard]] json::Value to_json(const RunResult& result);
[[nodiscard]] std::string to_csv(const RunResult& result);
/// Latency of all placements, from due time to commit.
[[nodiscard]] std::string to_hdr(const RunResult& result);

// Shared with reports of other commands.

/// `format` and `version`, then workload, label, partial, ended, settings, build and machine like in a run's report.
[[nodiscard]] json::Value report_head(const RunResult& result, const std::string& format, int version);
/// The same for the terminal: workload, machine, build, settings, cluster; with a first line for partial runs.
[[nodiscard]] std::string head_lines(const RunResult& result);
/// p50, p90, p99, p999, max and mean.
[[nodiscard]] json::Value percentiles(const sim::Histogram& histogram);
/// "812 ns", "1.23 us", "4.56 ms", "7.89 s".
[[nodiscard]] std::string time_words(std::int64_t ns);
/// "12,345,678".
[[nodiscard]] std::string grouped(std::uint64_t number);

}  // namespace berth::run
