// Reads the parts of a workload; used by workload.cc.
#pragma once

#include "sim/life_spec.h"
#include "sim/toml_section.h"
#include "sim/workload.h"

namespace berth::sim {

/// [cluster] and its [[cluster.shapes]], [[cluster.load]] and [cluster.joins].
[[nodiscard]] ClusterSpec read_cluster(TomlReader& reader, const toml::table* table, std::size_t line);
/// [jobs] and its [[jobs.mix]]. `lives`: the workload has a [life].
[[nodiscard]] JobsSpec read_jobs(TomlReader& reader, const toml::table* table, std::size_t line, bool lives);
/// [life], [[events]], [[faults]] and [[tasks]] of a workload that has a [life].
[[nodiscard]] LifeSpec read_life(TomlReader& reader, TomlSection& root);
/// The keys of a job kind that only simulations use.
[[nodiscard]] JobLife read_job_life(TomlReader& reader, TomlSection& in, const std::string& type);

}  // namespace berth::sim
