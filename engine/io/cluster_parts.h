// Steps of an import that its files share. Not for users of io; see export_import.h.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <tuple>

#include "io/export_import.h"
#include "model/codec/codec.h"

namespace berth::io {

using Warnings = std::vector<std::string>;

/// A version of a job: a job that was purged and registered again starts at version 0 with a new create index.
using JobKey = std::tuple<std::string, std::string, std::uint64_t, std::uint64_t>;  // namespace, ID, create, version
[[nodiscard]] inline JobKey key_of(const model::Job& job) {
  return {job.namespace_, job.id, job.create_index, job.version};
}

/// Longest ID or name that is taken; what is longer is no name but damage.
inline constexpr std::size_t kNameBytesMax = 4096;

/// The first `limit` bytes of a text for a message, with a mark when something was cut off.
[[nodiscard]] std::string shortened(const std::string& text, std::size_t limit = 80);

/// Texts of a snapshot may be any bytes (R-SNAP-32). JSON must be UTF-8, so U+FFFD takes the place of what is none, as
/// in Nomad's API.
[[nodiscard]] std::string as_utf8(std::string text);

/// Whether `document` looks like CLUSTER.json.
[[nodiscard]] bool is_cluster_file(const json::Value& document);
[[nodiscard]] Result<model::ClusterState> read_cluster_file(const json::Value& document, const std::string& path,
                                                            Warnings& warnings);

/// What a cluster cannot be planned on without, and that its sources do not hold.
struct Missing {
  std::string problem, remedy;
};

/// What an answer of the API holds, or a record of a snapshot.
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

/// Gathers answers of the API and records of snapshots, in any order and with repetitions.
class ExportCollector {
 public:
  ExportCollector();
  ~ExportCollector();
  /// One document: {path: answer}, or an answer told by its keys. `others_are_fine`: what is neither is no warning.
  [[nodiscard]] Result<void> add(const json::Value& document, const std::string& path, bool others_are_fine = false);
  /// One record of a snapshot (R-SNAP-20): it is what the state holds, so it wins over every answer, and over an
  /// earlier record of the same object (R-SNAP-23). `is_version`: a job of the table of versions, where the current one
  /// wins (R-SNAP-70).
  [[nodiscard]] Result<void> add_record(ApiKind kind, const json::Value& object, bool is_version,
                                        const model::ReadOptions& options);
  /// The state is at least as new as this index.
  void raise_index(std::uint64_t index);
  [[nodiscard]] Result<model::ClusterState> finish(const std::string& path, Warnings& warnings,
                                                   std::optional<Missing>& missing);

 private:
  struct Tables;
  std::unique_ptr<Tables> tables_;
};

/// The answers in a tar archive, as `nomad operator debug` writes it. Of several captures of one list the last counts.
[[nodiscard]] Result<void> add_archive(const std::string& path, ExportCollector& collector, Warnings& notes);
/// Drops from ascending `files` those that a debug archive repeats in a later capture: .../0000/nodes.json before
/// .../0001/nodes.json.
void keep_last_captures(std::vector<std::string>& files);

/// Whether `document` is an object {path: answer}.
[[nodiscard]] bool is_export(const json::Value& document);

/// Reads a scheduler configuration; absent booleans are false, those of PreemptionConfig included (R-PREEMPT-102).
[[nodiscard]] Result<model::SchedulerConfiguration> read_scheduler_config(const json::Value& value,
                                                                          const model::ReadOptions& options);

/// Brings an imported job into the form in which the server keeps it (R-MODEL-621).
[[nodiscard]] Result<std::shared_ptr<model::Job>> read_stored_job(const json::Value& value,
                                                                  const model::ReadOptions& options);

/// What an object's ID must be: a UUID (R-MODEL-590), whose letters are made lower. `what` is "node", "allocation",
/// "evaluation" or "deployment"; the nil UUID, where it may not be, stands for none.
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

/// References to such objects in lower letters; a warning for each that is neither empty nor a UUID.
void take_references(model::ClusterState& state, Warnings& warnings);

/// A whole number of 64 bits under `key`, such as an index or a version; absent when the key is, or null.
[[nodiscard]] Result<std::optional<std::uint64_t>> read_number(const json::Value& object, const char* key,
                                                               const model::ReadOptions& options);

/// Canonical nodes, computed classes, built-in pools and namespaces, ascending order of everything.
[[nodiscard]] Result<void> complete_state(model::ClusterState& state, const std::string& path, Warnings& warnings);

/// Refuses or drops what no rule can place (R-MODEL-9, 614) and remarks on contradictions. Times after `now_ns` are
/// remarked on; 0: none.
[[nodiscard]] Result<void> check_state(model::ClusterState& state, const std::string& path, std::int64_t now_ns,
                                       Warnings& warnings);

/// What check_state remarks on besides: chains that close, names given twice, times to come, negative counts, groups,
/// types and deployments that cannot be, ports that are no ports, sums beyond 64 bits. Changes nothing.
void remark_on_contradictions(const model::ClusterState& state, std::int64_t now_ns, Warnings& warnings);

}  // namespace berth::io
