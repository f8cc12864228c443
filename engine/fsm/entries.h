// Payloads of log entries (R-CTRL-101, 626, 704, 744 to 749, 1214 to 1216): the data of one state change. Those on
// nodes are in node_entries.h.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fsm/job_entries.h"
#include "model/cluster.h"
#include "tables/client_report.h"

namespace berth::fsm {

struct TransitionEntry {
  std::vector<std::pair<std::string, model::DesiredTransition>> allocs;
  std::vector<model::Evaluation> evals;
};

/// Reports of clients, merged over 50 ms (R-CTRL-749).
struct ClientUpdateEntry {
  std::vector<tables::ClientReport> reports;  ///< in the order of their arrival
  std::vector<model::Allocation> allocs;      ///< reports that came as API objects or do not fit into a row
  std::vector<model::Evaluation> evals;

  [[nodiscard]] bool empty() const { return reports.empty(); }
  void add(model::Allocation report);
  /// Empties the entry but keeps its memory.
  void clear() { reports.clear(), allocs.clear(), evals.clear(); }
};

struct JobRegisterEntry {
  std::shared_ptr<const model::Job> job;
  std::optional<model::Evaluation> eval;
  std::optional<std::uint64_t> enforce_index;
  bool preserve_counts = false, preserve_resources = false;
  std::optional<Submission> submission;
};

struct JobDeregisterEntry {
  std::string name_space, job_id;
  bool purge = false, no_shutdown_delay = false;
  std::optional<model::Evaluation> eval;
  std::int64_t submit_time = 0;  ///< unix ns
};

struct DeploymentStatusEntry {
  model::DeploymentStatusUpdate update;
  std::shared_ptr<const model::Job> job;
  std::optional<model::Evaluation> eval;
};

struct DeploymentPromoteEntry {
  std::string deployment_id;
  bool all = false;
  std::vector<std::string> groups;
  std::int64_t promoted_at = 0;  ///< unix ns; 0: automatic
  std::int64_t now = 0;          ///< unix ns: progress deadlines count from here
  std::optional<model::Evaluation> eval;
};

struct DeploymentHealthEntry {
  std::string deployment_id;
  std::vector<std::string> healthy, unhealthy;
  base::Time timestamp;
  std::optional<model::DeploymentStatusUpdate> update;
  std::shared_ptr<const model::Job> job;
  std::optional<model::Evaluation> eval;
};

// Node pools and namespaces.

struct NodePoolUpsertEntry {
  std::vector<model::NodePool> pools;
};
struct NodePoolDeleteEntry {
  std::vector<std::string> names;
};
struct NamespaceUpsertEntry {
  std::vector<model::Namespace> namespaces;
};
struct NamespaceDeleteEntry {
  std::vector<std::string> names;
};

// Garbage collection (R-CTRL-734, 742, 1407 to 1413).

/// The rows are those of the current state, as an entry is applied before the state changes.
struct EvalDeleteEntry {
  std::vector<base::AllocRow> allocs;
  std::vector<base::StoredEvalRow> evals;
};

struct DeploymentDeleteEntry {
  std::vector<std::string> deployments;
};

/// Purges jobs, each a (namespace, ID); no evaluations are created and no hook runs (R-CTRL-203).
struct JobBatchDeregisterEntry {
  std::vector<std::pair<std::string, std::string>> jobs;
};

}  // namespace berth::fsm
