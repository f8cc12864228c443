// Which files of a folder may be part of a cluster.
#pragma once

#include <string_view>

namespace berth::io {

[[nodiscard]] inline bool is_json_name(std::string_view name) {
  return name.ends_with(".json") || name.ends_with(".json.gz");
}

/// True for the names of files that an import takes from a folder: JSON, snapshots and archives.
[[nodiscard]] inline bool is_cluster_name(std::string_view name) {
  return is_json_name(name) || name.ends_with(".snap") || name.ends_with(".tar.gz") || name.ends_with(".tgz");
}

}  // namespace berth::io
