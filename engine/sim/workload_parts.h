// Reads the cluster and the jobs of a workload; used by workload.cc.
#pragma once

#include "sim/toml_section.h"
#include "sim/workload.h"

namespace berth::sim {

/// [cluster] and its [[cluster.shapes]], [[cluster.load]] and [cluster.joins].
[[nodiscard]] ClusterSpec read_cluster(TomlReader& reader, const toml::table* table, std::size_t line);
/// [jobs] and its [[jobs.mix]]. `lives`: the workload has a [life].
[[nodiscard]] JobsSpec read_jobs(TomlReader& reader, const toml::table* table, std::size_t line, bool lives);

}  // namespace berth::sim
