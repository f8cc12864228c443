// Nodes of own traces: a CSV file with one row per kind of node.
//
//   column      unit   needed   meaning
//   cpu_mhz     MHz    yes      of each node
//   memory_mb   MiB    yes      of each node
//   count       -      no       nodes; 1
//   disk_mb     MiB    no       of each node; 1 TiB
//   class       -      no       node class; empty
//   gpus        -      no       devices trace/gpu/<gpu_model>; 0
//   gpu_model   -      no       their model; needed with gpus
#pragma once

#include <string>
#include <string_view>

#include "berth/result.h"
#include "sim/generated_cluster.h"

namespace berth::sim {

/// Reads a list; `text` is the content of `path`. An error names file, line and column.
[[nodiscard]] Result<GeneratedCluster> parse_node_list(std::string_view text, const std::string& path,
                                                       std::uint64_t seed);

}  // namespace berth::sim
