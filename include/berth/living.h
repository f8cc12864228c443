// A cluster that lives, on a virtual clock: every node has a simulated client, and the leader watches heartbeats,
// drains, deployments, periodic jobs and garbage as Nomad's does.
//
//   berth::LivingCluster cluster;
//   cluster.add_node(node_json);
//   cluster.register_job(*job);
//   cluster.advance(10'000'000'000);           // ten seconds, done in microseconds
//   for (const berth::DeploymentInfo& each : cluster.view().deployments())
//     if (auto done = cluster.promote(each.id); !done) std::puts(done.error().text.c_str());
//   cluster.set_reachable(node_id, false);
//   cluster.advance(60'000'000'000);
//   for (const auto& alloc : cluster.view().allocs_of("default", "web")) ...
//
// Same seed and same calls: same decisions. Threads: a LivingCluster belongs to one thread at a time; Views may go to
// any.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "berth/cluster.h"

namespace berth {

struct LifeConfig {
  std::uint64_t seed = 1;
  std::int64_t start_ns = 1'700'000'000'000'000'000;  ///< the clock at the beginning, unix ns
  std::int64_t batch_run_ns = 60'000'000'000;  ///< how long a task of a batch or sysbatch job runs; others run for ever
};

/// What a life did so far.
struct LifeCounts {
  std::uint64_t heartbeats = 0, reports = 0;
};

class LivingCluster {
 public:
  /// An empty cluster with a leader.
  explicit LivingCluster(const LifeConfig& config = {});
  /// As Cluster::from_file; clients start on the nodes that are ready.
  [[nodiscard]] static Result<LivingCluster> from_file(const std::string& path, const LifeConfig& config = {});
  /// The nodes of a workload, as Cluster::from_workload; a client starts on each.
  [[nodiscard]] static Result<LivingCluster> from_workload(const std::string& name, const std::string& label = "full",
                                                           std::uint64_t seed = 0, const LifeConfig& config = {});
  [[nodiscard]] static Result<LivingCluster> from_json(std::string_view text, const LifeConfig& config = {});

  LivingCluster(LivingCluster&&) noexcept;
  LivingCluster& operator=(LivingCluster&&) noexcept;
  ~LivingCluster();

  [[nodiscard]] std::int64_t now_ns() const;
  /// Lets that much time go by, >= 0: everything due until then happens. False, and nothing happens, where another
  /// thread is in the cluster.
  bool advance(std::int64_t ns);
  /// True while a call that changes the cluster is under way.
  [[nodiscard]] bool in_use() const;
  /// When something is due next, unix ns; INT64_MAX: nothing ever will be.
  [[nodiscard]] std::int64_t next_due_ns();

  /// A machine with its client joins, given as Nomad's API prints a node.
  [[nodiscard]] Result<void> add_node(std::string_view json);
  /// Registers a job as Nomad's server does. Returns the ID of its evaluation, "" for periodic and parameterized jobs.
  [[nodiscard]] Result<std::string> register_job(const Job& job);

  // What an operator or the world does now. Error unknown_object: no such node, job, allocation or deployment;
  // processing_failed: Nomad's server refuses it, the text is Nomad's.
  [[nodiscard]] Result<void, Error> stop_job(std::string_view job_namespace, std::string_view job_id,
                                             bool purge = false);
  [[nodiscard]] Result<void, Error> scale_job(std::string_view job_namespace, std::string_view job_id,
                                              std::string_view group, std::int64_t count);
  [[nodiscard]] Result<void, Error> stop_alloc(std::string_view alloc_id);
  // A deployment, by its ID as View::deployments() tells it.
  /// Its canaries are good: the rest of these groups follows; no group named: of all groups.
  [[nodiscard]] Result<void, Error> promote(std::string_view deployment_id,
                                            const std::vector<std::string>& groups = {});
  /// It has failed; a group with auto_revert goes back to the last stable version.
  [[nodiscard]] Result<void, Error> fail_deployment(std::string_view deployment_id);
  [[nodiscard]] Result<void, Error> pause_deployment(std::string_view deployment_id, bool paused = true);
  /// Tells the health of allocations whose group leaves that to the operator (health_check = "manual").
  [[nodiscard]] Result<void, Error> set_health(std::string_view deployment_id, const std::vector<std::string>& healthy,
                                               const std::vector<std::string>& unhealthy = {});
  /// Drains a node. `deadline_ns`: 0 none, negative at once.
  [[nodiscard]] Result<void, Error> drain_node(std::string_view node_id, std::int64_t deadline_ns = 0,
                                               bool ignore_system_jobs = false);
  /// Ends a drain; `eligible`: the node takes work again.
  [[nodiscard]] Result<void, Error> end_drain(std::string_view node_id, bool eligible = true);
  [[nodiscard]] Result<void, Error> set_eligible(std::string_view node_id, bool eligible);
  /// Cuts a client off from the servers, or lets it come back. Its tasks go on meanwhile.
  [[nodiscard]] Result<void, Error> set_reachable(std::string_view node_id, bool reachable);
  /// The machine is gone with all that runs on it.
  [[nodiscard]] Result<void, Error> remove_node(std::string_view node_id);

  [[nodiscard]] View view() const;
  [[nodiscard]] LifeCounts counts() const;
  /// Fingerprint of all decisions and log entries so far.
  [[nodiscard]] std::uint64_t digest() const;

 private:
  struct Impl;
  explicit LivingCluster(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace berth
