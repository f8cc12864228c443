// Whole clusters from files, and back: exports of a running Nomad, single answers of its API, and berth's CLUSTER.json.
//
//   export_import.cc    which kind of file it is; folders; strictness
//   export_collect.cc   answers of the API gathered into one state (R-MODEL-610 to 615)
//   cluster_file.cc     CLUSTER.json read and written (its layout stands there)
//   object_ids.cc       IDs are UUIDs, in lower letters
//   cluster_checks.cc, cluster_contradictions.cc   contradictions within a state
#pragma once

#include <string>
#include <vector>

#include "berth/result.h"
#include "model/cluster.h"

namespace berth::io {

struct ImportOptions {
  bool strict = false;                    ///< the first warning becomes the error
  bool remote_tasks = false;              ///< keeps the handles of remote tasks (R-SEED-10)
  bool legacy_disconnect_fields = false;  ///< R-SEED-70
  std::int64_t now_ns = 0;                ///< Unix time: what happened after it is a contradiction; 0: nothing is
};

struct ClusterImport {
  model::ClusterState state;          ///< every list in ascending order of its key; jobs shared by their allocations
  std::vector<std::string> warnings;  ///< one line each: what contradicts itself or was left out, and what became of it
};

/// Reads a cluster from a file (plain or gzip) or a folder of .json and .json.gz files:
///   - an object {path: answer}, as an export of all API endpoints gives;
///   - answers of the API: one object, or a list of objects, whose kind is told by their keys;
///   - CLUSTER.json.
/// Nodes, allocations, evaluations and deployments must have UUIDs for IDs (R-MODEL-590). An error names the place;
/// nothing is ever half imported.
[[nodiscard]] Result<ClusterImport> import_cluster(const std::string& path, const ImportOptions& options = {});

/// As import_cluster, for a document already parsed; `path` is named in messages.
[[nodiscard]] Result<ClusterImport> import_cluster_json(const json::Value& document, const std::string& path,
                                                        const ImportOptions& options = {});

/// The state as CLUSTER.json. Reading it again gives the same state, apart from the order of lists.
[[nodiscard]] json::Value cluster_to_json(const model::ClusterState& state);
/// The same as the text of the file.
[[nodiscard]] std::string cluster_text(const model::ClusterState& state);

}  // namespace berth::io
