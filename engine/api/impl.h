// Private parts of the public classes. Not for users of the library.
#pragma once

#include "api/in_use.h"
#include "base/json.h"
#include "berth/cluster.h"
#include "berth/strategy.h"
#include "model/cluster.h"
#include "server/lane.h"
#include "server/server.h"
#include "server/surroundings.h"

namespace berth {

struct Job::Impl {
  json::Value input;  ///< registered again with each cluster's namespaces, pools and stored version
  std::string path;
  std::shared_ptr<const model::Job> job;
  std::vector<std::string> warnings;
};

struct Cluster::Impl {
  explicit Impl(const Config& config);

  const Config config;
  InUse use;  ///< taken by each public function that changes the cluster or decides
  std::vector<std::string> warnings;
  server::ManualClock clock;
  server::Server server;  ///< inline: schedule() decides and commit() commits, without queues
  std::uint64_t schedules = 0;
  server::ScoringStrategy strategy;  ///< used by the lanes' scratches
  Stats stats;

  std::vector<std::unique_ptr<server::Lane>> lanes;  ///< of schedule_all(), made at first use

  struct Asked {
    base::Uuid id;
    tables::JobKeyRow job = tables::kNoRow;
    std::uint64_t tag = 0;
  };
  [[nodiscard]] Result<Plan, Error> decide(const Asked& asked, server::Lane& lane, std::int64_t now_ns);
  void count(const Plan& plan);

  [[nodiscard]] tables::StateStore& store() { return server.store(); }
  [[nodiscard]] std::uint64_t next_index() { return store().index() + 1; }
  void load(const model::ClusterState& state);
  [[nodiscard]] tables::JobKeyRow find_job(std::string_view job_namespace, std::string_view job_id);
};

// border.cc: input of both kinds of clusters.

/// A new Nomad cluster, with its built-in pools, namespace and scheduler configuration.
[[nodiscard]] model::ClusterState empty_state();
/// Reads a node in the JSON of Nomad's API; canonicalizes and checks it and computes its class.
[[nodiscard]] Result<model::Node> read_node(std::string_view json);
/// The cluster of a workload, given by name or path. `seed` 0: the file's own.
[[nodiscard]] Result<model::ClusterState> workload_state(const std::string& name, const std::string& label,
                                                         std::uint64_t seed);
/// The job of `input` as it would be stored in that state. `stored`: its current version, or null. The error contains
/// Nomad's text.
[[nodiscard]] Result<std::shared_ptr<model::Job>> register_against(const json::Value& input, const std::string& path,
                                                                   const tables::Snapshot& state,
                                                                   const model::Job* stored);

struct Plan::Rows {
  const void* owner = nullptr;  ///< the Cluster::Impl that made the plan
  bool used = false;
  plan::PlanRows plan;  ///< without metrics, which are in the lane's arena
  bool all_at_once = false;
};

struct View::Impl {
  std::shared_ptr<const void> owner;  ///< the cluster, which keeps the symbols alive
  tables::SnapshotRef state;
};

}  // namespace berth
