// Steps of an import that several of its files share. Not for users of io; see export_import.h.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <tuple>

#include "io/export_import.h"
#include "io/json_tree.h"
#include "model/codec/codec.h"
#include "model/job.h"

namespace berth::io {

using Warnings = std::vector<std::string>;

/// Key of a job version. A job that was purged and registered again starts at version 0 with a new create index.
using JobKey = std::tuple<std::string, std::string, std::uint64_t, std::uint64_t>;  // namespace, ID, create, version
[[nodiscard]] inline JobKey key_of(const model::Job& job) {
  return {job.namespace_, job.id, job.create_index, job.version};
}

/// Longest accepted ID or name; a longer one is damage.
inline constexpr std::size_t kNameBytesMax = 4096;

/// The first `limit` bytes of a text for a message, with a mark if it was cut.
[[nodiscard]] std::string shortened(const std::string& text, std::size_t limit = 80);

/// Replaces invalid UTF-8 by U+FFFD, as Nomad's API does: texts of a snapshot may be any bytes (R-SNAP-32), JSON may
/// not.
[[nodiscard]] std::string as_utf8(std::string text);

/// True if `document` looks like CLUSTER.json.
[[nodiscard]] bool is_cluster_file(const json::Value& document);
[[nodiscard]] bool is_cluster_file(const JsonElement& document);
/// Reads such a document. One entry of its lists at a time becomes a value.
[[nodiscard]] Result<model::ClusterState> read_cluster_file(const json::Value& document, const std::string& path,
                                                            Warnings& warnings);
[[nodiscard]] Result<model::ClusterState> read_cluster_file(const JsonElement& document, const std::string& path,
                                                            Warnings& warnings);

/// Data that planning needs and that the sources lack.
struct Missing {
  std::string problem, remedy;
};

/// Kind of object in an API answer or a snapshot record.
enum class ApiKind : std::uint8_t {
  ignored,
  node,
  node_stub,
  alloc,         // full, with its job
  alloc_single,  // full, with the port mappings that the single endpoint makes up (R-MODEL-612)
  alloc_stub,
  job,
  job_stub,
  versions,
  eval,
  deployment,
  pool,
  name_space,
  config,
  host_volume,
  host_volume_stub,
  claim,
  csi_volume,
  csi_volume_stub,
  csi_plugin,
};

/// Gathers API answers and snapshot records, in any order and with repetitions.
class ExportCollector {
 public:
  ExportCollector();
  ~ExportCollector();
  /// Adds one document: {path: answer}, or an answer recognised by its keys. `others_are_fine`: no warning for other
  /// documents.
  [[nodiscard]] Result<void> add(const json::Value& document, const std::string& path, bool others_are_fine = false);
  /// Adds a document {path: answer}. One entry of it at a time becomes a value, and of equal jobs that allocations
  /// carry only the first.
  [[nodiscard]] Result<void> add_export(const JsonElement& document, const std::string& path);
  /// Adds one record of a snapshot (R-SNAP-20). It is the state itself, so it wins over every answer and over an
  /// earlier record of the same object (R-SNAP-23). `is_version`: a job of the table of versions; the current job wins
  /// over it (R-SNAP-70).
  [[nodiscard]] Result<void> add_record(ApiKind kind, const json::Value& object, bool is_version,
                                        const model::ReadOptions& options);
  /// Number of objects added so far.
  [[nodiscard]] std::size_t objects() const;
  /// Raises the index of the state to at least this one.
  void raise_index(std::uint64_t index);
  [[nodiscard]] Result<model::ClusterState> finish(const std::string& path, Warnings& warnings,
                                                   std::optional<Missing>& missing);

 private:
  struct Tables;
  std::unique_ptr<Tables> tables_;
};

/// Adds the answers in a tar archive, as `nomad operator debug` writes it. Of several captures of one list the last
/// counts.
[[nodiscard]] Result<void> add_archive(const std::string& path, ExportCollector& collector, Warnings& notes);
/// Drops from ascending `files` those that a debug archive repeats in a later capture: .../0000/nodes.json before
/// .../0001/nodes.json.
void keep_last_captures(std::vector<std::string>& files);
/// True for a list of such a capture. Files next to the captures may hold what other programs answered.
[[nodiscard]] bool is_capture(const std::string& path);
/// True if the text begins with an object or a list.
[[nodiscard]] bool begins_like_json(std::string_view text);
/// Note on files of a folder or an archive from which nothing was taken.
[[nodiscard]] std::string others_note(const std::string& path, std::size_t count, const std::string& first);

/// True if `document` is an object {path: answer}.
[[nodiscard]] bool is_export(const json::Value& document);
[[nodiscard]] bool is_export(const JsonElement& document);

/// Reads a scheduler configuration; absent booleans are false, also those of PreemptionConfig (R-PREEMPT-102).
[[nodiscard]] Result<model::SchedulerConfiguration> read_scheduler_config(const json::Value& value,
                                                                          const model::ReadOptions& options);

/// Converts an imported job to the form in which the server stores it (R-MODEL-621), without tokens.
[[nodiscard]] std::shared_ptr<model::Job> stored_form(model::Job job);
/// Reads an imported job and converts it to that form.
[[nodiscard]] Result<std::shared_ptr<model::Job>> read_stored_job(const json::Value& value,
                                                                  const model::ReadOptions& options);

/// Writes a job with the fields that mark the registered form, even if zero (R-MODEL-621). A job that a user copies out
/// must not be read as a new one, where absent fields mean defaults instead of zeros.
[[nodiscard]] json::Value write_registered_job(const model::Job& job);

/// Removes what is never imported, although an answer may hold it (R-SNAP-110).
void drop_secrets(model::Node& node);
void drop_secrets(model::Evaluation& eval);
void drop_secrets(model::Allocation& alloc);
void drop_secrets(model::CsiVolume& volume);

/// Checks that an object's ID is a UUID (R-MODEL-590) and makes it lower case. `what` is "node", "allocation",
/// "evaluation" or "deployment". Without `may_be_nil`, the nil UUID counts as a missing ID.
[[nodiscard]] Result<void> take_id(std::string& id, const char* what, bool may_be_nil,
                                   const model::ReadOptions& options);
[[nodiscard]] inline Result<void> take_id(model::Node& node, const model::ReadOptions& options) {
  return take_id(node.id, "node", false, options);
}
[[nodiscard]] inline Result<void> take_id(model::Allocation& alloc, const model::ReadOptions& options) {
  return take_id(alloc.id, "allocation", true, options);
}
[[nodiscard]] inline Result<void> take_id(model::Evaluation& eval, const model::ReadOptions& options) {
  return take_id(eval.id, "evaluation", false, options);
}
[[nodiscard]] inline Result<void> take_id(model::Deployment& deployment, const model::ReadOptions& options) {
  return take_id(deployment.id, "deployment", false, options);
}

[[nodiscard]] inline tl::unexpected<InputError> refuse_job_without_id(const std::string& path,
                                                                      const std::string& place) {
  return tl::unexpected(InputError{path, place, "a job without an ID", "give it one"});
}

/// Makes references to such objects lower case; warns of each that is neither empty nor a UUID.
void take_references(model::ClusterState& state, Warnings& warnings);

/// The 64-bit integer under `key`, such as an index or a version; absent if the key is absent or null.
[[nodiscard]] Result<std::optional<std::uint64_t>> read_number(const json::Value& object, const char* key,
                                                               const model::ReadOptions& options);

/// Canonicalises nodes, computes classes, adds built-in pools and namespaces, and sorts every list.
[[nodiscard]] Result<void> complete_state(model::ClusterState& state, const std::string& path, Warnings& warnings);

/// Refuses or drops what no rule can place (R-MODEL-9, 614) and reports contradictions. Reports times after `now_ns`; 0
/// skips that check.
[[nodiscard]] Result<void> check_state(model::ClusterState& state, const std::string& path, std::int64_t now_ns,
                                       Warnings& warnings);

/// Further reports of check_state: circular chains, repeated names, future times, negative counts, impossible groups,
/// types and deployments, invalid ports, sums beyond 64 bits. Changes nothing.
void remark_on_contradictions(const model::ClusterState& state, std::int64_t now_ns, Warnings& warnings);

}  // namespace berth::io
