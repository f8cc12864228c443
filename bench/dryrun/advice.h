// What Nomad's plan does not say of a group that cannot be placed: what is missing on the nearest nodes, what filtered
// most, and which smallest changes would make it fit. Each change is tried by a dry run of the changed job, so it is
// true for this state, not a guess.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "sched/dry_run.h"

namespace berth::dryrun {

/// What a node lacks for one more allocation of the group, after what the plan itself does there. MHz and MiB.
struct Shortage {
  std::string node_name;
  std::int64_t cpu_mhz = 0, memory_mb = 0, disk_mb = 0;  ///< 0: enough
};

struct GroupAdvice {
  std::string group;
  std::int64_t failed = 0;           ///< allocations that found no node
  std::string filtered_most;         ///< a constraint as the metrics name it; "" when nothing was filtered
  std::int64_t filtered_nodes = 0;   ///< by it
  std::vector<Shortage> nearest;     ///< at most 3, least missing first; only nodes that lack something
  std::vector<std::string> changes;  ///< "cpu of task "x": 12000 instead of 16000 MHz", ...
};

/// One entry per failed group. `now_ns` and `order` as for the answer.
[[nodiscard]] std::vector<GroupAdvice> advise(const model::ClusterState& state, const model::Registration& registration,
                                              const sched::DryRun& dry_run, const sched::DryRunAnswer& answer,
                                              std::int64_t now_ns, std::uint64_t order);

[[nodiscard]] std::string to_text(const std::vector<GroupAdvice>& advice);
[[nodiscard]] json::Value to_json(const std::vector<GroupAdvice>& advice);

/// Scores, components and reasons of one node, group by group, as lines. `node`: its ID, the beginning of it, or its
/// name; an error text when there is no such node or several.
[[nodiscard]] tl::expected<std::string, std::string> explain(const model::ClusterState& state,
                                                             const model::Registration& registration,
                                                             const std::string& node, std::int64_t now_ns,
                                                             std::uint64_t order);

}  // namespace berth::dryrun
