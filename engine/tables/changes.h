// Changes: the rows that commits wrote since the list was last cleared, for watchers that must not scan the tables.
//
// A store's commits write to the Changes object set by StateStore::set_changes; without one they pay one branch per
// row. A row may be listed several times, and may have been removed since: the tables have its current content.
// Threads: the writer's only.
#pragma once

#include <vector>

#include "tables/job_table.h"

namespace berth::tables {

struct Changes {
  std::vector<NodeRow> nodes;              ///< registered, updated, removed, or changed in status or eligibility
  std::vector<JobKeyRow> jobs;             ///< with a new current version, or purged
  std::vector<AllocRow> allocs;            ///< inserted or written
  std::vector<DeploymentRow> deployments;  ///< written or removed
  std::uint64_t rounds = 0;                ///< number of clear() calls; rows removed before the last one may be reused

  [[nodiscard]] bool empty() const { return nodes.empty() && jobs.empty() && allocs.empty() && deployments.empty(); }
  /// Empties the lists but keeps their memory.
  void clear() { nodes.clear(), jobs.clear(), allocs.clear(), deployments.clear(), ++rounds; }
};

}  // namespace berth::tables
