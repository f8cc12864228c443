// Steps of an import that its files share. Not for users of io; see export_import.h.
#pragma once

#include <functional>
#include <map>
#include <tuple>

#include "io/export_import.h"
#include "model/codec.h"

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

/// Whether `document` looks like CLUSTER.json.
[[nodiscard]] bool is_cluster_file(const json::Value& document);
[[nodiscard]] Result<model::ClusterState> read_cluster_file(const json::Value& document, const std::string& path,
                                                            Warnings& warnings);

/// Gathers answers of the API, in any order and with repetitions.
class ExportCollector {
 public:
  ExportCollector();
  ~ExportCollector();
  /// One document: {path: answer}, or an answer told by its keys.
  [[nodiscard]] Result<void> add(const json::Value& document, const std::string& path);
  [[nodiscard]] Result<model::ClusterState> finish(const std::string& path, Warnings& warnings);

 private:
  struct Tables;
  std::unique_ptr<Tables> tables_;
};

/// Whether `document` is an object {path: answer}.
[[nodiscard]] bool is_export(const json::Value& document);

/// Reads a scheduler configuration; absent booleans are false, those of PreemptionConfig included (R-PREEMPT-102).
[[nodiscard]] Result<model::SchedulerConfiguration> read_scheduler_config(const json::Value& value,
                                                                          const model::ReadOptions& options);

/// Brings an imported job into the form in which the server keeps it (R-MODEL-621).
[[nodiscard]] Result<std::shared_ptr<model::Job>> read_stored_job(const json::Value& value,
                                                                  const model::ReadOptions& options);

/// Canonical nodes, computed classes, built-in pools and namespaces, ascending order of everything.
[[nodiscard]] Result<void> complete_state(model::ClusterState& state, const std::string& path, Warnings& warnings);

/// Refuses or drops what no rule can place (R-MODEL-9, 614) and remarks on contradictions.
[[nodiscard]] Result<void> check_state(model::ClusterState& state, const std::string& path, Warnings& warnings);

}  // namespace berth::io
