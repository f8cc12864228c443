// Reads whole clusters from files (snapshots, exports of a running Nomad, API answers, debug archives, berth's
// CLUSTER.json) and writes CLUSTER.json.
//
//   export_import.cc    which kinds of file the sources are; folders; strictness
//   snapshot/           what `nomad operator snapshot save` writes (R-SNAP)
//   archive_import.cc   what `nomad operator debug` writes, and other tar archives of answers
//   export_collect.cc   answers of the API gathered into one state (R-MODEL-610 to 615)
//   cluster_file.cc     reads and writes CLUSTER.json; its layout is described there
//   redact.h            replaces values that may be secret by words
//   anonymize.h         replaces names by words; decisions stay the same
//   object_ids.cc       IDs are UUIDs in lower case
//   cluster_checks.cc, cluster_contradictions.cc   contradictions within a state
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "berth/result.h"
#include "model/cluster.h"

namespace berth::io {

struct ImportOptions {
  bool strict = false;                    ///< the first warning becomes the error
  bool allow_partial = false;             ///< accept a cluster whose sources lack data that planning needs
  bool remote_tasks = false;              ///< keep the handles of remote tasks (R-SEED-10)
  bool legacy_disconnect_fields = false;  ///< read fields of older versions (R-SEED-70)
  std::int64_t now_ns = 0;                ///< Unix time; later times are reported. 0: no check
};

struct ClusterImport {
  model::ClusterState state;          ///< lists ascend by key; allocations share their jobs
  std::vector<std::string> warnings;  ///< one line per contradiction or omission, with its effect
  std::vector<std::string> notes;     ///< one line per effect of the kind of source, such as skipped records
};

/// Reads a cluster from files and folders, in any mixture. The contents decide the kind of a file:
///   - a snapshot, as `nomad operator snapshot save` writes it;
///   - an object {path: answer}, as an export of all API endpoints writes it; plain or gzip, like all JSON;
///   - answers of the API or the CLI: one object, or a list of objects, whose keys show the kind;
///   - a tar archive of such files, as `nomad operator debug` writes it; of several captures the last counts;
///   - CLUSTER.json, which holds a whole cluster and must be the only source.
/// Nodes, allocations, evaluations and deployments must have UUIDs for IDs (R-MODEL-590). An error names the place and
/// nothing is imported. Node secrets, tokens and keys are dropped while reading.
[[nodiscard]] Result<ClusterImport> import_clusters(const std::vector<std::string>& paths,
                                                    const ImportOptions& options = {});
[[nodiscard]] Result<ClusterImport> import_cluster(const std::string& path, const ImportOptions& options = {});

/// An import step by step, for answers that do not come from files.
class Importer {
 public:
  /// `single`: there is one source, which may be a CLUSTER.json.
  explicit Importer(bool single);
  ~Importer();
  /// Adds a file or folder.
  [[nodiscard]] Result<void> add(const std::string& path);
  /// Adds the API's answer to `request`, which begins with /v1/. Messages call it `name`.
  [[nodiscard]] Result<void> add_answer(const std::string& request, json::Value answer, const std::string& name);
  void add_note(std::string note);
  /// Returns the cluster. The importer cannot be used afterwards.
  [[nodiscard]] Result<ClusterImport> finish(const std::string& name, const ImportOptions& options);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Like import_cluster, for a parsed document; messages name `path`.
[[nodiscard]] Result<ClusterImport> import_cluster_json(const json::Value& document, const std::string& path,
                                                        const ImportOptions& options = {});

/// The state as CLUSTER.json. Reading it again gives the same state, apart from the order of lists.
[[nodiscard]] json::Value cluster_to_json(const model::ClusterState& state);
/// Text of the file, made from the state or from the result of cluster_to_json().
[[nodiscard]] std::string cluster_text(const model::ClusterState& state);
[[nodiscard]] std::string cluster_file_text(const json::Value& document);

}  // namespace berth::io
