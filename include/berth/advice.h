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

/// What a node lacks for one more allocation of a group, after what the plan itself does there.
struct NodeShortage {
  std::string node_name;
  std::int64_t cpu_mhz = 0, memory_mb = 0, disk_mb = 0, cores = 0;  ///< MHz, MiB; 0: enough
  std::string reason;  ///< a constraint or a dimension for which the scheduler refuses the node
};

/// One edit of the job with which all allocations of a group are placed, and committed.
struct JobEdit {
  std::string text;   ///< cpu of task "x": 12000 instead of 16000 MHz
  std::string patch;  ///< of the job's JSON as it was given: a JSON Patch (RFC 6902); "": not an edit of the job
};

/// Of a group that finds no node for some of its allocations, or of whose placements the applier would refuse some.
struct GroupAdvice {
  std::string task_group;
  std::int64_t failed = 0, refused = 0;  ///< allocations: without a node; on nodes that would refuse them
  std::string filtered_most;             ///< the constraint that filtered most nodes; "" when nothing was filtered
  std::int64_t filtered_nodes = 0;       ///< by it
  std::vector<NodeShortage> nearest;     ///< at most three nodes, those that lack least first
  std::vector<JobEdit> edits;            ///< each tried on the cluster; empty: no single edit that is looked for helps
};

}  // namespace berth
