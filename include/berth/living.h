// LivingCluster: a cluster simulated on a virtual clock. Every node has a client, and the leader watches heartbeats,
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
// Same seed and same calls: same decisions. Threads: a LivingCluster belongs to one thread at a time; Views may be used
// on any.
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
  std::int64_t start_ns = 1'700'000'000'000'000'000;  ///< initial clock, unix ns
  std::int64_t batch_run_ns = 60'000'000'000;  ///< run time of batch and sysbatch tasks; other tasks run for ever
};

/// Counters of the simulation so far.
struct LifeCounts {
  std::uint64_t heartbeats = 0, reports = 0;
};

class LivingCluster {
 public:
  /// An empty cluster with a leader.
  explicit LivingCluster(const LifeConfig& config = {});
  /// Like Cluster::from_file; clients start on the ready nodes.
  [[nodiscard]] static Result<LivingCluster> from_file(const std::string& path, const LifeConfig& config = {});
  /// The nodes of a workload, like Cluster::from_workload; a client starts on each.
  [[nodiscard]] static Result<LivingCluster> from_workload(const std::string& name, const std::string& label = "full",
                                                           std::uint64_t seed = 0, const LifeConfig& config = {});
  [[nodiscard]] static Result<LivingCluster> from_json(std::string_view text, const LifeConfig& config = {});

  LivingCluster(LivingCluster&&) noexcept;
  LivingCluster& operator=(LivingCluster&&) noexcept;
  ~LivingCluster();

  [[nodiscard]] std::int64_t now_ns() const;
  /// Advances the clock by `ns` >= 0 and does everything due until then. False, without effect, if another thread is
  /// using the cluster.
  bool advance(std::int64_t ns);
  /// True while a call that changes the cluster is running.
  [[nodiscard]] bool in_use() const;
  /// Time of the next due work, unix ns; INT64_MAX: none.
  [[nodiscard]] std::int64_t next_due_ns();

  /// Adds a machine with its client, in the JSON of a node in Nomad's API.
  [[nodiscard]] Result<void> add_node(std::string_view json);
  /// Registers a job as Nomad's server does. Returns the ID of its evaluation, "" for periodic and parameterized jobs.
  [[nodiscard]] Result<std::string> register_job(const Job& job);

  // Actions of an operator and external events, now. Errors: unknown_object: no such node, job, allocation or
  // deployment; processing_failed: Nomad's server refuses it, with Nomad's text.
  [[nodiscard]] Result<void, Error> stop_job(std::string_view job_namespace, std::string_view job_id,
                                             bool purge = false);
  [[nodiscard]] Result<void, Error> scale_job(std::string_view job_namespace, std::string_view job_id,
                                              std::string_view group, std::int64_t count);
  [[nodiscard]] Result<void, Error> stop_alloc(std::string_view alloc_id);
  // Deployments, by the ID from View::deployments().
  /// Promotes the canaries of these groups; empty: of all groups.
  [[nodiscard]] Result<void, Error> promote(std::string_view deployment_id,
                                            const std::vector<std::string>& groups = {});
  /// Marks the deployment as failed; with auto_revert the job returns to the last stable version.
  [[nodiscard]] Result<void, Error> fail_deployment(std::string_view deployment_id);
  [[nodiscard]] Result<void, Error> pause_deployment(std::string_view deployment_id, bool paused = true);
  /// Sets the health of allocations whose group leaves that to the operator (health_check = "manual").
  [[nodiscard]] Result<void, Error> set_health(std::string_view deployment_id, const std::vector<std::string>& healthy,
                                               const std::vector<std::string>& unhealthy = {});
  /// Drains a node. `deadline_ns`: 0 none, negative at once.
  [[nodiscard]] Result<void, Error> drain_node(std::string_view node_id, std::int64_t deadline_ns = 0,
                                               bool ignore_system_jobs = false);
  /// Ends a drain. `eligible`: the node takes work again.
  [[nodiscard]] Result<void, Error> end_drain(std::string_view node_id, bool eligible = true);
  [[nodiscard]] Result<void, Error> set_eligible(std::string_view node_id, bool eligible);
  /// Disconnects a client from the servers, or reconnects it. Its tasks keep running.
  [[nodiscard]] Result<void, Error> set_reachable(std::string_view node_id, bool reachable);
  /// Removes the machine with all its tasks.
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
