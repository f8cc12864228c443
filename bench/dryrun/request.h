// A dry run's inputs: the cluster and the clock; what tells a job from a cluster.
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
  bool generated = false;                    ///< from a workload, whose time is its own
};

/// `name`: a file, a folder or an agent's address as `berth import` reads it, or a workload (its file, or the name of
/// one in bench/macro) as it is when all that is due by `at_ns` of the workload's time has happened; absent: before its
/// first job.
[[nodiscard]] Result<Cluster> read_cluster(const std::string& name, const model::Options& options = {},
                                           std::optional<std::int64_t> at_ns = {}, agent::SourceOptions sources = {});

/// Replaces settings of the scheduler configuration. `algorithm`: "binpack" or "spread"; "": unchanged. `preemption`:
/// "KIND=on" or "KIND=off" for service, batch, system or sysbatch; the last one of a kind counts. A pool's own
/// algorithm stays. Errors follow the name of the option: "'x' is ...".
[[nodiscard]] Result<void, std::string> change_scheduler(model::ClusterState& state, const std::string& algorithm,
                                                         const std::vector<std::string>& preemption);

/// The newest time that a state tells of.
struct Newest {
  std::int64_t ns = 0;   ///< unix; 0: it tells of none
  std::string kind, id;  ///< "allocation" and the like, and which one
  std::string field;     ///< of it
};
[[nodiscard]] Newest newest_time(const model::ClusterState& state);

/// Whether a document is a job as berth plan takes it; whether it is a cluster.
[[nodiscard]] bool is_job(const json::Value& document);
[[nodiscard]] bool is_cluster(const json::Value& document);

/// model::job_key_warnings() of a job's document and its fields without effect, each with the file's name before it.
[[nodiscard]] std::vector<std::string> key_warnings(const json::Value& document, const std::string& path,
                                                    const model::Options& options = {});

}  // namespace berth::dryrun
