// Inputs of a dry run: the cluster and the clock; distinguishes jobs from clusters.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent/sources.h"
#include "model/cluster.h"
#include "model/registration/register_job.h"

namespace berth::dryrun {

struct Cluster {
  model::ClusterState state;
  std::vector<std::string> warnings, notes;  ///< of the import
  bool generated = false;                    ///< from a workload, which has its own time
};

/// `name`: a file, a folder or an agent's address as for `berth import`, or a workload (its file, or a name in
/// bench/macro). `at_ns`: the workload's cluster after all events due by then; absent: before its first job.
[[nodiscard]] Result<Cluster> read_cluster(const std::string& name, const model::Options& options = {},
                                           std::optional<std::int64_t> at_ns = {}, agent::SourceOptions sources = {});

/// Replaces settings of the scheduler configuration. `algorithm`: "binpack" or "spread"; "": unchanged. `preemption`:
/// "KIND=on" or "KIND=off" for service, batch, system or sysbatch; the last one of a kind counts. A pool's own
/// algorithm is unchanged. Error texts continue after the option's name: "'x' is ...".
[[nodiscard]] Result<void, std::string> change_scheduler(model::ClusterState& state, const std::string& algorithm,
                                                         const std::vector<std::string>& preemption);

/// The newest time in a state, of those before the year 2200.
struct Newest {
  std::int64_t ns = 0;   ///< unix; 0: none
  std::string kind, id;  ///< object with this time: "allocation", ..., and its ID
  std::string field;     ///< field with this time
};
[[nodiscard]] Newest newest_time(const model::ClusterState& state);

/// True if a document is a job for berth plan; true if it is a cluster.
[[nodiscard]] bool is_job(const json::Value& document);
[[nodiscard]] bool is_cluster(const json::Value& document);

/// model::job_key_warnings() of a job's document, and its fields without effect, each prefixed with the file's name.
[[nodiscard]] std::vector<std::string> key_warnings(const json::Value& document, const std::string& path,
                                                    const model::Options& options = {});

}  // namespace berth::dryrun
