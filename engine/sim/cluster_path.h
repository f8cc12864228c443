// A cluster named where a workload is expected.
#pragma once

#include <optional>
#include <string>

namespace berth::sim {

/// The text of the workload that a cluster at `path` stands for: its own jobs, at rates estimated from it. nullopt: the
/// path is a workload file or does not exist. JSON, archives and gzip are clusters, unless the name ends in .toml, and
/// folders with such files. Reads the beginning of a file only.
[[nodiscard]] std::optional<std::string> workload_of_cluster(const std::string& path);

}  // namespace berth::sim
