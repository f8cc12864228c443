// Workloads and traces.
#include "fuzz/harness.h"
#include "sim/trace_file.h"
#include "sim/workload.h"

namespace berth::fuzz {
namespace {

void fuzz_workload(std::string_view input) {
  const auto read = sim::parse_workload(input, "workload.toml");
  if (!read) require_line(read.error().line());
}

void fuzz_trace(std::string_view input) {
  const auto read = sim::parse_trace(input, "trace.csv");
  if (!read) return require_line(read.error().line());
  const sim::TraceSummary summary = sim::summary_of(*read);
  require(summary.allocs >= 0 && summary.cpu_mhz_peak >= 0 && summary.memory_mb_peak >= 0 && summary.span_s >= 0,
          "a sum over a trace is negative");
}

const FuzzTarget kWorkload("workload", fuzz_workload);
const FuzzTarget kTrace("trace", fuzz_trace);

}  // namespace
}  // namespace berth::fuzz
