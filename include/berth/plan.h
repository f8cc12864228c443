// A scheduling decision: what goes where and why, and what found no place and why not.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace berth {

/// One of the best nodes that a placement looked at.
struct ScoredNode {
  std::string node_id, node_name;
  double score = 0;                          ///< final: the mean of the components that count
  std::map<std::string, double> components;  ///< binpack, job-anti-affinity, node-affinity, allocation-spread, ...
};

/// What was counted while a place was searched.
struct Metrics {
  std::int64_t nodes_evaluated = 0;                     ///< nodes looked at
  std::int64_t nodes_filtered = 0;                      ///< of these, failing a constraint or lacking something
  std::int64_t nodes_exhausted = 0;                     ///< of these, feasible but without room
  std::int64_t nodes_in_pool = 0;                       ///< ready nodes of the job's pool and datacenters
  std::map<std::string, std::int64_t> nodes_available;  ///< the same by datacenter
  std::map<std::string, std::int64_t> filtered_by;      ///< reason in words -> nodes
  std::map<std::string, std::int64_t> exhausted_by;     ///< dimension (cpu, memory, network: ..., ...) -> nodes
  std::vector<ScoredNode> best;                         ///< best first, at most five; empty when no node was feasible
};

struct Placement {
  std::string alloc_id;  ///< the ID the allocation will have
  std::string name;      ///< `<job>.<group>[<index>]`
  std::string task_group;
  std::string node_id, node_name;
  double score = 0;  ///< final score of the node when it was chosen
  Metrics metrics;
};

/// An allocation that the plan ends.
struct Stop {
  std::string alloc_id, alloc_name;
  std::string job_id, task_group, node_id;
  bool preempted = false;  ///< evicted to make room for a placement of this plan
  std::string reason;      ///< as Nomad describes it on the allocation; empty for a preemption
};

/// A task group of which some allocations found no node.
struct Failure {
  std::string task_group;
  std::int64_t count = 0;            ///< allocations without a node; they wait for one
  Metrics metrics;                   ///< of the first of them
  std::vector<std::string> reasons;  ///< in words, what ruled out most nodes first
};

/// The answer of Cluster::schedule(). Nothing has changed yet; Cluster::commit() makes it so, once.
struct Plan {
  std::string eval_id;  ///< seed of the visiting order
  std::string job_id, job_namespace;
  std::vector<Placement> placements;  ///< in order of decision
  std::vector<Failure> failures;
  std::vector<Stop> stops;           ///< allocations that end: not needed, updated, migrated, lost, preempted
  std::size_t updated_in_place = 0;  ///< allocations that stay and get the job's new version

  [[nodiscard]] bool complete() const { return failures.empty(); }
  /// Several lines for people: each placement with its node and score, each failure with its reasons.
  [[nodiscard]] std::string explain() const;

  struct Rows;                 ///< the decision in the engine's own form
  std::shared_ptr<Rows> rows;  ///< for commit(); null in a Plan that nobody scheduled
};

struct RejectedNode {
  std::string node_id, node_name;
  std::string reason;  ///< as Nomad's plan applier says it: cpu, node is not eligible, ...
};

/// What became of a plan.
struct CommitResult {
  std::uint64_t index = 0;             ///< of the change; 0 when nothing changed
  std::uint32_t committed = 0;         ///< placements that are allocations now
  std::uint32_t refused = 0;           ///< placements that are not; schedule the job again for them
  std::vector<RejectedNode> rejected;  ///< why, ascending by node ID
  [[nodiscard]] bool full() const { return refused == 0; }
};

}  // namespace berth
