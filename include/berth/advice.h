// Why a job does not fit, and which edits of it would make it fit.
//
//   if (auto advice = cluster.advise(*job))
//     for (const berth::GroupAdvice& group : *advice)
//       for (const berth::JobEdit& edit : group.edits) std::puts(edit.text.c_str());
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace berth {

/// Amounts that a node lacks for one more allocation of a group, after the plan.
struct NodeShortage {
  std::string node_name;
  std::int64_t cpu_mhz = 0, memory_mb = 0, disk_mb = 0, cores = 0;  ///< MHz, MiB; 0: enough
  std::string reason;  ///< the constraint or dimension for which the scheduler refuses the node
};

/// An edit of the job with which all allocations of a group are placed and committed.
struct JobEdit {
  std::string text;   ///< cpu of task "x": 12000 instead of 16000 MHz
  std::string patch;  ///< JSON Patch (RFC 6902) of the given JSON; "": not an edit of the job
};

/// Advice on a group for which some allocations find no node, or some placements would be refused at commit.
struct GroupAdvice {
  std::string task_group;
  std::int64_t failed = 0, refused = 0;  ///< allocations: without a node; on nodes that would refuse them
  std::string filtered_most;             ///< the constraint that filtered most nodes; "" if none did
  std::int64_t filtered_nodes = 0;       ///< nodes that it filtered
  std::vector<NodeShortage> nearest;     ///< at most three nodes, least missing first
  std::vector<JobEdit> edits;            ///< each tried on the cluster; empty: no tried edit helps
};

}  // namespace berth
