// `berth diff A B`: what happened to the allocations, jobs and nodes of a cluster between two moments.
//
// An allocation is live while it should run and its client has not ended it. An allocation live only in B that replaced
// one live only in A has *moved* (another node) or was *replaced* (same node). The predecessor is the one that its
// chain of previous allocations leads to. Allocations without such a chain are matched by job, name and node, then by
// job and name. Linear in the objects of both states, apart from sorting.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/cluster.h"

namespace berth::diff {

enum class Kind : std::uint8_t { moved, replaced, placed, ended };
[[nodiscard]] const char* to_text(Kind kind);

struct AllocChange {
  Kind kind = Kind::placed;
  std::string job, group, name;  ///< job with "@namespace" unless it is `default`
  std::string from, to;          ///< names of nodes; "" if there is none
  std::string old_id, new_id;
  std::string why;  ///< how the old one ended: "failed", "lost", "evicted for JOB", a desired description, "gone"
};

/// A group of a job: wanted and live allocations, and events. Groups without any difference are omitted.
struct GroupChange {
  std::string job, group;
  std::optional<std::int64_t> count_before, count_after;  ///< nullopt: the group does not exist, or its job is stopped
  std::int64_t live_before = 0, live_after = 0;
  std::int64_t moved = 0, replaced = 0, placed = 0, ended = 0;
  std::int64_t failed = 0;                             ///< allocations that failed since A, whether or not A holds them
  std::int64_t evicted = 0;                            ///< evicted since A, whether or not A holds them
  std::int64_t updated = 0;                            ///< in place: same allocation, new version of the job
  std::int64_t waiting_before = 0, waiting_after = 0;  ///< allocations for which no node was found
  std::int64_t cpu_mhz = 0, memory_mb = 0;             ///< change of the amounts held by live ones
};

struct JobChange {
  std::string job, before, after;  ///< "running, version 2", "stopped, version 2", "-"
};

struct NodeChange {
  std::string node, id;
  std::string before, after;  ///< "ready", "ready, ineligible", "-" if it does not exist
  std::int64_t live_before = 0, live_after = 0;
  std::int64_t came = 0, left = 0, failed = 0;
  std::int64_t cpu_mhz = 0, memory_mb = 0;  ///< change of the amounts held there
};

/// A property of a node that is in both states and changed: attribute, meta value, amount, device or driver.
struct NodeFieldChange {
  std::string node, id;
  std::string field;          ///< "attr.os.version", "cpu MHz", "device nvidia/gpu/t4"
  std::string before, after;  ///< "" if absent
};

/// One of the two moments.
struct Moment {
  std::uint64_t index = 0;
  std::int64_t ns = 0;  ///< Unix time of the newest event in the state; 0: it has none
  std::int64_t nodes = 0, jobs = 0, live = 0;
};

struct Report {
  Moment before, after;
  std::vector<AllocChange> allocs;  ///< sorted by kind, job and name
  std::vector<GroupChange> groups;
  std::vector<JobChange> jobs;
  std::vector<NodeChange> nodes;
  std::vector<NodeFieldChange> node_fields;  ///< sorted by node and field
  bool related = true;                       ///< false: neither node nor job nor allocation is in both

  [[nodiscard]] bool empty() const {
    return allocs.empty() && groups.empty() && jobs.empty() && nodes.empty() && node_fields.empty();
  }
  [[nodiscard]] std::int64_t count(Kind kind) const;
};

[[nodiscard]] Report compare(const model::ClusterState& before, const model::ClusterState& after);

}  // namespace berth::diff
