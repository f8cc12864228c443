// Whole clusters from files, and back: snapshots, exports of a running Nomad, answers of its API, debug archives, and
// berth's CLUSTER.json.
//
//   export_import.cc    which kinds of file the sources are; folders; strictness
//   snapshot/           what `nomad operator snapshot save` writes (R-SNAP)
//   archive_import.cc   what `nomad operator debug` writes, and other tar archives of answers
//   export_collect.cc   answers of the API gathered into one state (R-MODEL-610 to 615)
//   cluster_file.cc     CLUSTER.json read and written (its layout stands there)
//   redact.h            values that may be secret replaced by words
//   anonymize.h         names replaced by words, the decisions kept
//   object_ids.cc       IDs are UUIDs, in lower letters
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
  bool allow_partial = false;             ///< also a cluster whose sources lack what it cannot be planned on without
  bool remote_tasks = false;              ///< keeps the handles of remote tasks (R-SEED-10)
  bool legacy_disconnect_fields = false;  ///< R-SEED-70
  std::int64_t now_ns = 0;                ///< Unix time: what happened after it is a contradiction; 0: nothing is
};

struct ClusterImport {
  model::ClusterState state;          ///< every list in ascending order of its key; jobs shared by their allocations
  std::vector<std::string> warnings;  ///< one line each: what contradicts itself or was left out, and what became of it
  std::vector<std::string> notes;     ///< one line each: what follows from the kind of source and is no contradiction
};

/// Reads a cluster from files and folders, which may be any mixture of these; their kinds are told by their contents:
///   - a snapshot, as `nomad operator snapshot save` writes it;
///   - an object {path: answer}, as an export of all API endpoints gives; plain or gzip, as all JSON;
///   - answers of the API or the CLI: one object, or a list of objects, whose kind is told by their keys;
///   - a tar archive of such files, as `nomad operator debug` writes it; of several captures the last counts;
///   - CLUSTER.json, which is whole and comes alone.
/// Nodes, allocations, evaluations and deployments must have UUIDs for IDs (R-MODEL-590). An error names the place;
/// nothing is ever half imported. Node secrets, tokens and keys are dropped as they are read.
[[nodiscard]] Result<ClusterImport> import_clusters(const std::vector<std::string>& paths,
                                                    const ImportOptions& options = {});
[[nodiscard]] Result<ClusterImport> import_cluster(const std::string& path, const ImportOptions& options = {});

/// An import step by step, for answers that come from elsewhere than files.
class Importer {
 public:
  /// `single`: one source, which may be a CLUSTER.json.
  explicit Importer(bool single);
  ~Importer();
  /// A file or folder.
  [[nodiscard]] Result<void> add(const std::string& path);
  /// The answer of the API to `request`, which begins with /v1/; `name` is named in messages.
  [[nodiscard]] Result<void> add_answer(const std::string& request, json::Value answer, const std::string& name);
  void add_note(std::string note);
  /// The cluster. Ends the object's life as an importer.
  [[nodiscard]] Result<ClusterImport> finish(const std::string& name, const ImportOptions& options);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// As import_cluster, for a document already parsed; `path` is named in messages.
[[nodiscard]] Result<ClusterImport> import_cluster_json(const json::Value& document, const std::string& path,
                                                        const ImportOptions& options = {});

/// The state as CLUSTER.json. Reading it again gives the same state, apart from the order of lists.
[[nodiscard]] json::Value cluster_to_json(const model::ClusterState& state);
/// The text of the file, from the state, or from what cluster_to_json() gave.
[[nodiscard]] std::string cluster_text(const model::ClusterState& state);
[[nodiscard]] std::string cluster_file_text(const json::Value& document);

}  // namespace berth::io
