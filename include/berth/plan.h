// A scheduling decision: placements with their reasons, and failures with theirs.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace berth {

/// One of the best nodes that a placement examined.
struct ScoredNode {
  std::string node_id, node_name;
  double score = 0;                          ///< final: the mean of the components that count
  std::map<std::string, double> components;  ///< binpack, job-anti-affinity, node-affinity, allocation-spread, ...
};

/// Counts of the search for a placement.
struct Metrics {
  std::int64_t nodes_evaluated = 0;                     ///< examined nodes
  std::int64_t nodes_filtered = 0;                      ///< of these, failing a constraint or lacking something
  std::int64_t nodes_exhausted = 0;                     ///< of these, feasible but without room
  std::int64_t nodes_in_pool = 0;                       ///< ready nodes of the job's pool and datacenters
  std::map<std::string, std::int64_t> nodes_available;  ///< the same by datacenter
  std::map<std::string, std::int64_t> filtered_by;      ///< reason as text -> nodes
  std::map<std::string, std::int64_t> exhausted_by;     ///< dimension (cpu, memory, network: ..., ...) -> nodes
  std::vector<ScoredNode> best;                         ///< best first, at most five; empty if no node was feasible
};

struct Placement {
  std::string alloc_id;  ///< the ID the allocation will have
  std::string name;      ///< `<job>.<group>[<index>]`
  std::string task_group;
  std::string node_id, node_name;
  double score = 0;  ///< final score of the chosen node
  Metrics metrics;
};

/// An allocation that the plan ends.
struct Stop {
  std::string alloc_id, alloc_name;
  std::string job_id, task_group, node_id;
  bool preempted = false;  ///< evicted to make room for a placement of this plan
  std::string reason;      ///< Nomad's description on the allocation; empty for a preemption
};

/// A task group of which some allocations found no node.
struct Failure {
  std::string task_group;
  std::int64_t count = 0;            ///< allocations without a node; they wait for one
  Metrics metrics;                   ///< of the first of them
  std::vector<std::string> reasons;  ///< as text, the one that excluded most nodes first
};

/// Result of Cluster::schedule(). The cluster does not change until Cluster::commit(), which works once per plan.
struct Plan {
  std::string eval_id;  ///< seed of the visiting order
  std::string job_id, job_namespace;
  std::vector<Placement> placements;  ///< in order of decision
  std::vector<Failure> failures;
  std::vector<Stop> stops;           ///< allocations that end: not needed, updated, migrated, lost, preempted
  std::size_t updated_in_place = 0;  ///< running allocations that get the job's new version

  [[nodiscard]] bool complete() const { return failures.empty(); }
  /// Several lines for people: each placement with its node and score, each failure with its reasons.
  [[nodiscard]] std::string explain() const;

  struct Rows;                 ///< the decision in the engine's own form
  std::shared_ptr<Rows> rows;  ///< for commit(); null if not made by a Cluster
};

struct RejectedNode {
  std::string node_id, node_name;
  std::string reason;  ///< text of Nomad's plan applier: cpu, node is not eligible, ...
};

/// Result of a commit.
struct CommitResult {
  std::uint64_t index = 0;             ///< of the change; 0 if nothing changed
  std::uint32_t committed = 0;         ///< placements that became allocations
  std::uint32_t refused = 0;           ///< placements that are not; schedule the job again for them
  std::vector<RejectedNode> rejected;  ///< why, ascending by node ID
  [[nodiscard]] bool full() const { return refused == 0; }
};

}  // namespace berth
