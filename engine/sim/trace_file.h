// Own traces: jobs from a CSV file, one row per job.
//
//   column      unit   needed   meaning
//   submit_s    s      yes      when the job is registered, in any order; the first one is the start
//   run_s       s      no       how long its allocations run; empty or no column: they stay
//   count       -      no       allocations; 1
//   cpu_mhz     MHz    yes      of each allocation
//   memory_mb   MiB    yes      of each allocation
//   disk_mb     MiB    no       of each allocation; 300, Nomad's default
//   type        -      no       service or batch; batch if the row has a run time, else service
//   priority    -      no       1 to 100; 50
//   failed      -      no       1: its allocations end as failed; 0
//   gpus        -      no       devices of type gpu, of each allocation; 0
//   gpu_model   -      no       accepted models of these, joined by |; any
//   distinct_hosts  -  no       1: its allocations are on different nodes; 0
//   gang        -      no       1: its allocations start together, or none does; 0
//   namespace   -      no       default
// Equal rows, apart from their times, share a template.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "berth/result.h"
#include "sim/job_stream.h"

namespace berth::sim {

/// Most rows that a trace may have.
inline constexpr std::int64_t kTraceRowsMost = 10'000'000;

/// Reads a trace; `text` is the content of `path`. `count`: the first so many rows; 0: all. An error names file, line
/// and column.
[[nodiscard]] Result<JobStream> parse_trace(std::string_view text, const std::string& path, std::int64_t count = 0);

/// What a trace consists of.
struct TraceSummary {
  std::size_t jobs = 0, templates = 0, ending = 0, failed = 0;
  std::int64_t allocs = 0;
  double span_s = 0;  ///< from the first to the last submit time
  /// Largest sum of what runs at one time if each job gets its room at once.
  std::int64_t cpu_mhz_peak = 0, memory_mb_peak = 0;
};
[[nodiscard]] TraceSummary summary_of(const JobStream& jobs);

}  // namespace berth::sim
