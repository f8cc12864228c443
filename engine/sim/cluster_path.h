// A cluster named where a workload is expected.
#pragma once

#include <optional>
#include <string>

namespace berth::sim {

/// The text of the workload for a cluster at `path`: its own jobs, at rates estimated from it. nullopt: the path is a
/// workload file or does not exist. Clusters are JSON, archives and gzip, unless the name ends in .toml, and folders
/// with such files. Reads only the beginning of a file.
[[nodiscard]] std::optional<std::string> workload_of_cluster(const std::string& path);

}  // namespace berth::sim
