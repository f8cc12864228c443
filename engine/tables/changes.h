// Changes: the rows that commits wrote since somebody last looked, for watchers that must not scan the tables.
//
// A store's commits write into the one it is handed (StateStore::set_changes); without it they pay one branch per row.
// A row may be listed several times, and may have been removed since: look at the tables for what it is now. Threads:
// the writer's only.
#pragma once

#include <vector>

#include "tables/job_table.h"

namespace berth::tables {

struct Changes {
  std::vector<NodeRow> nodes;              ///< registered, updated, removed, another status or eligibility
  std::vector<JobKeyRow> jobs;             ///< another current version, or purged
  std::vector<AllocRow> allocs;            ///< inserted or written
  std::vector<DeploymentRow> deployments;  ///< written or removed
  std::uint64_t rounds = 0;                ///< how often all was forgotten; rows that went before are used again

  [[nodiscard]] bool empty() const { return nodes.empty() && jobs.empty() && allocs.empty() && deployments.empty(); }
  /// Forgets all and keeps the memory.
  void clear() { nodes.clear(), jobs.clear(), allocs.clear(), deployments.clear(), ++rounds; }
};

}  // namespace berth::tables
