// Interface for listeners that need the rows that an entry wrote, such as a stream of events. Without one, no rows are
// recorded.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/cluster.h"
#include "tables/job_table.h"

namespace berth::fsm {

enum class EntryKind : std::uint8_t {
  silent,  ///< not reported
  part,    ///< part of an entry that is reported later
  job_register,
  job_deregister,
  job_batch_deregister,
  eval_update,
  plan,
  client_update,
  transition,
  deployment_status,
  deployment_promotion,
  deployment_health,
  node_register,
  node_deregister,
  node_status,
  node_eligibility,
  node_drain,
  pool_upsert,
  pool_delete,
};

/// A row may be listed several times.
struct EntryRows {
  std::vector<tables::JobKeyRow> jobs;
  std::vector<tables::StoredEvalRow> evals;
  std::vector<tables::AllocRow> allocs;
  std::vector<tables::DeploymentRow> deployments;
  std::vector<tables::NodeRow> nodes;
  std::vector<std::string> pools;
  // Deleted objects, as they were before.
  std::vector<std::shared_ptr<const model::Job>> deleted_jobs;
  std::vector<std::shared_ptr<const model::Node>> deleted_nodes;
  std::vector<model::NodePool> deleted_pools;

  /// Empties the rows but keeps their memory.
  void clear() {
    jobs.clear(), evals.clear(), allocs.clear(), deployments.clear(), nodes.clear(), pools.clear();
    deleted_jobs.clear(), deleted_nodes.clear(), deleted_pools.clear();
  }
};

class EntryListener {
 public:
  virtual ~EntryListener() = default;
  /// Called at the end of the entry's commit, which still holds the store's mutex: read the state from the log and from
  /// StateStore::current(), not from a snapshot.
  virtual void entry_applied(EntryKind kind, std::uint64_t index, const EntryRows& rows) = 0;
};

}  // namespace berth::fsm
