// A cluster in memory: nodes, jobs, allocations. Load it, register a job, schedule it, read why, commit, repeat.
//
//   auto cluster = berth::Cluster::from_file("cluster.json");
//   auto job = berth::Job::from_file("job.json");
//   cluster->register_job(*job);
//   auto plan = cluster->schedule(*job);
//   std::puts(plan->explain().c_str());
//   cluster->commit(*plan);
//
// Dry run without registering the job; several jobs at once:
//
//   auto would = cluster.dry_run(*job);
//   if (would && !would->complete()) std::puts(would->explain().c_str());
//
//   for (const auto& plan : cluster.schedule_all({*job}))
//     if (plan) cluster.commit(*plan);
//
// Read the state; remove a node and reschedule; report that an allocation ended:
//
//   for (const berth::JobInfo& each : cluster.view().jobs()) std::printf("%s %u\n", each.id.c_str(), each.allocs);
//   for (const berth::AllocInfo& alloc : cluster.view().allocs_on(node_id)) std::puts(alloc.name.c_str());
//   for (const berth::DeploymentInfo& each : cluster.view().deployments()) std::puts(each.status.c_str());
//
//   cluster.remove_node(node_id);
//   if (auto moved = cluster.schedule(*job)) cluster.commit(*moved);
//
//   for (const berth::AllocInfo& alloc : cluster.view().allocs_of("default", "web"))
//     if (auto done = cluster.set_alloc_status(alloc.id, "complete"); !done)
//       std::puts(berth::line(done.error()).c_str());
//
//   if (auto done = cluster.score_by("best-fit:norm=max"); !done) std::puts(done.error().line().c_str());
//
// Threads: a Cluster belongs to one thread at a time. A call during another thread's call, or by a strategy while the
// cluster decides, is refused (Errc::processing_failed). Views may be used on any thread and do not change with the
// cluster. Nothing here reads a clock, prints, or throws on input.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/advice.h"
#include "berth/columns.h"
#include "berth/config.h"
#include "berth/error.h"
#include "berth/job.h"
#include "berth/plan.h"
#include "berth/result.h"
#include "berth/stats.h"

namespace berth {

/// A node in a View.
struct NodeInfo {
  std::string id, name, datacenter, pool, node_class;
  std::string status;                                     ///< initializing, ready, down or disconnected
  bool ready = false;                                     ///< status ready, eligible, not draining
  std::uint32_t allocs = 0;                               ///< number that have not ended
  std::int64_t cpu_usable_mhz = 0, cpu_used_mhz = 0;      ///< usable: without the node's reserved resources
  std::int64_t memory_usable_mb = 0, memory_used_mb = 0;  ///< MiB
  std::int64_t disk_usable_mb = 0, disk_used_mb = 0;      ///< MiB
};

/// An allocation in a View.
struct AllocInfo {
  std::string id, name, job_namespace, job_id, task_group;
  std::string node_id;         ///< "" if its node is unknown
  std::string desired_status;  ///< run, stop or evict
  std::string client_status;   ///< pending, running, complete, failed, lost or unknown
  std::uint64_t create_index = 0, modify_index = 0;
};

/// A job in a View.
struct JobInfo {
  std::string id, job_namespace, type, pool;
  std::int64_t priority = 0;
  std::uint64_t version = 0;
  bool stopped = false;
  std::int64_t count = 0;    ///< sum of the groups' counts; system groups: per node
  std::uint32_t allocs = 0;  ///< number that have not ended
};

/// Progress of a deployment in one group.
struct DeploymentGroupInfo {
  std::string group;
  std::int64_t desired_total = 0, placed = 0, healthy = 0, unhealthy = 0, desired_canaries = 0;
  bool promoted = false;
};
struct DeploymentInfo {
  std::string id, job_namespace, job_id;
  std::uint64_t job_version = 0;
  std::string status, description;  ///< running, successful, failed, cancelled, paused, ...
  std::vector<DeploymentGroupInfo> groups;
};

/// A snapshot of the cluster. Taking one costs the same for any cluster size. While one exists, changes copy the blocks
/// that they touch.
class View {
 public:
  [[nodiscard]] std::uint64_t index() const;          ///< of the last change
  [[nodiscard]] Counts counts() const;                ///< O(nodes + jobs + allocations)
  [[nodiscard]] std::vector<NodeInfo> nodes() const;  ///< ascending by ID
  /// Allocations of a job, oldest first; empty for an unknown job. O(jobs + its allocations).
  [[nodiscard]] std::vector<AllocInfo> allocs_of(std::string_view job_namespace, std::string_view job_id) const;
  /// Allocations of a node, ended ones last; empty for an unknown node. O(its allocations).
  [[nodiscard]] std::vector<AllocInfo> allocs_on(std::string_view node_id) const;
  /// Jobs with a current version, by namespace and ID. O(jobs + allocations).
  [[nodiscard]] std::vector<JobInfo> jobs() const;
  /// Deployments by namespace, job and version. O(deployments).
  [[nodiscard]] std::vector<DeploymentInfo> deployments() const;
  /// Nodes and allocations as columns (columns.h). O(nodes), O(allocations + nodes).
  [[nodiscard]] NodeColumns node_columns() const;
  [[nodiscard]] AllocColumns alloc_columns() const;
  /// The whole state as CLUSTER.json, which from_file() and `berth import` read. Cost: a copy of everything.
  [[nodiscard]] std::string to_json() const;

 private:
  friend class Cluster;
  friend class LivingCluster;
  struct Impl;
  explicit View(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

class Cluster {
 public:
  /// An empty cluster.
  explicit Cluster(const Config& config = {});
  /// Reads CLUSTER.json, an export of Nomad's API, or a folder of such files, plain or gzip. Errors name the place.
  [[nodiscard]] static Result<Cluster> from_file(const std::string& path, const Config& config = {});
  /// The cluster of a workload (bench/macro/README.md) before its first job. `name`: its name, or the path of its TOML
  /// file. `seed` 0: the file's own.
  [[nodiscard]] static Result<Cluster> from_workload(const std::string& name, const std::string& label = "full",
                                                     std::uint64_t seed = 0, const Config& config = {});
  /// As from_file, for JSON text.
  [[nodiscard]] static Result<Cluster> from_json(std::string_view text, const Config& config = {});

  Cluster(Cluster&&) noexcept;
  Cluster& operator=(Cluster&&) noexcept;
  ~Cluster();

  /// Scores the fit of nodes by a ranking strategy (strategy.h), "name:key=value:...", without changing other score
  /// components (R-STRAT-007). "nomad" restores Nomad's own fit. Add your own strategy to strategy::registry() first.
  /// Reference values of strategies (largest node capacities, mean request and typical workload of the jobs) are taken
  /// from the present cluster, so load nodes and jobs first. O(nodes + jobs). Errors: no such strategy or parameter,
  /// with the nearest names; a strategy that does not score each node by itself.
  [[nodiscard]] Result<void> score_by(std::string_view strategy);

  /// Warnings of the loader: contradictions in the input and how they were resolved, one line each.
  [[nodiscard]] const std::vector<std::string>& load_warnings() const;

  /// Adds or replaces one node, in the JSON of Nomad's API. Errors: no JSON, a mistyped field, a missing or bad ID, a
  /// node that the scheduler could not use. O(nodes): to add many, load a file.
  [[nodiscard]] Result<void> add_node(std::string_view json);
  /// Sets a node's status, eligibility and drain mark. Error unknown_object: no such node.
  [[nodiscard]] Result<void, Error> set_node(std::string_view node_id, std::string_view status, bool eligible = true,
                                             bool draining = false);

  /// Removes a node. The scheduler then treats its allocations as lost: schedule their jobs again. Error
  /// unknown_object.
  [[nodiscard]] Result<void, Error> remove_node(std::string_view node_id);

  /// Registers a job, or a new version of it if its specification changed. If the rules refuse the job in this cluster
  /// (unknown namespace or pool, change of type, ...), the error's problem is Nomad's text.
  [[nodiscard]] Result<void> register_job(const Job& job);
  /// Removes a job: stops its allocations, which end as complete. Returns how many ran. Error unknown_object.
  [[nodiscard]] Result<std::uint32_t, Error> remove_job(std::string_view job_namespace, std::string_view job_id);

  /// Decides where to place the job's missing allocations. `now_ns` is the time of the decision, ns since 1970. Errors:
  /// unknown_object (not registered), processing_failed.
  [[nodiscard]] Result<Plan, Error> schedule(std::string_view job_namespace, std::string_view job_id,
                                             std::int64_t now_ns = 0);
  [[nodiscard]] Result<Plan, Error> schedule(const Job& job, std::int64_t now_ns = 0) {
    return schedule(job.job_namespace(), job.id(), now_ns);
  }
  /// Decides for several jobs in parallel, with Config::workers threads, each on the present cluster. As with Nomad's
  /// workers, two plans may need the same room; commit() then refuses a part of the later one. The results are in the
  /// order of the jobs and do not depend on the number of threads.
  [[nodiscard]] std::vector<Result<Plan, Error>> schedule_all(const std::vector<Job>& jobs, std::int64_t now_ns = 0);
  /// The plan as if the job were registered now. Does not change the cluster; the plan cannot be committed. Costs a
  /// copy of the cluster. Errors: those of register_job() and schedule().
  [[nodiscard]] Result<Plan> dry_run(const Job& job, std::int64_t now_ns = 0) const;
  /// Why groups of a job would not fit if it were registered now, and which edits would make them fit (advice.h); empty
  /// if all fit. Nodes are scored as score_by() says. Costs a copy of the cluster and a dry run per tried edit. Errors:
  /// those of register_job() and the scheduler.
  [[nodiscard]] Result<std::vector<GroupAdvice>> advise(const Job& job, std::int64_t now_ns = 0) const;
  /// Commits the part of a plan that still fits; each node's part completely or not at all. Errors: already_used, or
  /// processing_failed if the whole plan was refused (a node's allocation limit).
  [[nodiscard]] Result<CommitResult, Error> commit(const Plan& plan);

  /// Reports the client status of an allocation: pending, running, complete, failed, lost or unknown. The first status
  /// that ends it frees its resources. Errors: unknown_object (no such allocation, no such status).
  [[nodiscard]] Result<void, Error> set_alloc_status(std::string_view alloc_id, std::string_view status);

  /// True while a function that changes the cluster or decides is running, on this or another thread.
  [[nodiscard]] bool in_use() const;

  [[nodiscard]] View view() const;
  [[nodiscard]] const Stats& stats() const;

 private:
  friend class View;
  struct Impl;
  explicit Cluster(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace berth
