// Reports in the formats of other tools: Prometheus' text exposition, google-benchmark's JSON, and the data items of
// Kubernetes' scheduler_perf.
#pragma once

#include <string>

#include "base/json.h"
#include "run/result.h"

namespace berth::run {

/// Prometheus' text format 0.0.4, for a push gateway or a node exporter's text file collector. Latencies are summaries
/// in seconds, all others gauges. Labels: workload, label, seed and ISA path; `berth_build_info` has the build.
[[nodiscard]] std::string to_prometheus(const RunResult& result);

/// google-benchmark's JSON, for its compare.py and similar tools: one entry per placement, stage and percentile, for
/// nomad-grid one per cell; times in ns per placement or evaluation.
[[nodiscard]] json::Value to_google_benchmark(const RunResult& result);

/// The data items that Kubernetes' scheduler_perf writes and perf-dash reads: throughput in allocations per second
/// (unit "pods/s") and, in ms, the latency of placements and its stages; for nomad-grid the time of each cell. The
/// average of the throughput is over the busy time; it has no percentiles, which scheduler_perf takes of samples a
/// second apart.
[[nodiscard]] json::Value to_data_items(const RunResult& result);

}  // namespace berth::run
