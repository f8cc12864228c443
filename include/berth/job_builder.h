// Builds a job in C++ instead of JSON: structs with defaults, and one function that turns them into a Job.
//
//   const auto job = berth::build_job({.id = "web",
//                                      .groups = {{.name = "app",
//                                                  .count = 3,
//                                                  .tasks = {{.name = "server", .cpu_mhz = 500, .memory_mb = 256}},
//                                                  .ports = {{.label = "http"}},
//                                                  .constraints = {{"${attr.kernel.name}", "=", "linux"}}}}});
//   if (!job) std::puts(job.error().line().c_str());
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "berth/job.h"
#include "berth/result.h"

namespace berth {

/// Condition on a node: "${attr.cpu.arch}", "=", "arm64". Operands are Nomad's: =, !=, <, <=, >, >=, regexp, version,
/// semver, set_contains, is_set, distinct_hosts, distinct_property, ...
struct JobConstraint {
  std::string attribute, operand = "=", value;
};
struct JobAffinity {
  std::string attribute, operand = "=", value;
  std::int64_t weight = 50;  ///< -100 to 100, not 0
};
/// Divides allocations among the values of an attribute.
struct JobSpread {
  std::string attribute;
  std::int64_t weight = 50;                                   ///< 0 to 100
  std::vector<std::pair<std::string, std::int64_t>> targets;  ///< value and percent; empty: evenly
};
struct JobPort {
  std::string label;
  std::int64_t value = 0;  ///< 0: a dynamic port
};
struct JobDevice {
  std::string name;  ///< "gpu", "nvidia/gpu" or "nvidia/gpu/A100"
  std::int64_t count = 1;
};

struct JobTask {
  std::string name = "main", driver = "exec";
  std::int64_t cpu_mhz = 100;
  std::int64_t cores = 0;  ///< if above 0: whole cores instead of `cpu_mhz`
  std::int64_t memory_mb = 300;
  std::int64_t memory_max_mb = 0;  ///< 0: memory_mb
  std::vector<JobDevice> devices;
  std::vector<JobConstraint> constraints;
  std::vector<JobAffinity> affinities;
};

struct JobGroup {
  std::string name = "main";
  std::int64_t count = 1;
  std::vector<JobTask> tasks = {JobTask{}};
  std::int64_t disk_mb = 300;
  std::vector<JobPort> ports;
  bool distinct_hosts = false;  ///< each allocation on a different node
  std::vector<JobConstraint> constraints;
  std::vector<JobAffinity> affinities;
  std::vector<JobSpread> spreads;
};

struct JobSpec {
  std::string id;
  std::string type = "service";  ///< service, batch, system or sysbatch
  std::int64_t priority = 50;    ///< 1 to 100
  std::string job_namespace = "default", pool = "default";
  std::vector<std::string> datacenters = {"*"};
  std::vector<JobGroup> groups = {JobGroup{}};
  bool all_at_once = false;
  std::vector<JobConstraint> constraints;
  std::vector<JobAffinity> affinities;
  std::vector<JobSpread> spreads;
};

/// Builds the job as at registration. If the rules refuse it, the error's problem is Nomad's text.
[[nodiscard]] Result<Job> build_job(const JobSpec& spec);

}  // namespace berth
