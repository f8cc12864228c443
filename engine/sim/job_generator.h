// Jobs: mixes of kinds, the cells of Nomad's grid, and jobs from a file. For openb see openb.h.
#pragma once

#include "sim/job_stream.h"
#include "sim/workload.h"

namespace berth::sim {

/// A mix of service, batch, system and sysbatch jobs. Templates are drawn once; arrivals draw their template and run
/// time. Due times are 0: arrivals.h sets them. The same specification and seed give the same stream on every machine.
[[nodiscard]] JobStream generate_jobs(const JobsSpec& spec, std::uint64_t seed);

/// The job of cell `cell` of Nomad's benchmark (datasets/README.md).
[[nodiscard]] std::shared_ptr<const model::Job> grid_job(int cell, std::uint32_t racks, std::int64_t allocs,
                                                         bool spread);

/// Jobs in API JSON in their registered form: a list, or an object with a list `Jobs`. `path` may be gzip.
[[nodiscard]] Result<JobStream> read_jobs_file(const std::string& path);

/// Nomad's error if the value of a constraint or affinity is not the regular expression or version that its operand
/// needs; else "".
[[nodiscard]] std::string rule_problem(const model::Constraint& rule);

/// A registered job of one type with server defaults (R-MODEL-225, 226, 240, 241), without groups.
[[nodiscard]] model::Job registered_job(const std::string& id, const std::string& type, std::int64_t priority);
/// A group for such a job with one task of the group's name, and the defaults of the job's type.
[[nodiscard]] model::TaskGroup registered_group(const std::string& type, const std::string& name, std::int64_t count,
                                                const std::string& driver, std::int64_t cpu_mhz, std::int64_t memory_mb,
                                                std::int64_t disk_mb);

}  // namespace berth::sim
