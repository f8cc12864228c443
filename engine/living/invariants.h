// Invariants of the state after every step of a simulation (R-CTRL-1720 to 1735). Exceptions that the specification
// makes, or that follow from Nomad's behaviour, are explained at the checks.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "lifecycle/heartbeats.h"
#include "server/server.h"

namespace berth::living {

using Problems = std::vector<std::string>;

/// Earlier events for which the checks of a state make exceptions.
struct Exceptions {
  std::set<base::Uuid> replaced;          ///< their stop was written as a copy, perhaps without a reason (R-SCHED-94)
  std::set<base::Uuid> removed;           ///< allocations removed by garbage collection or a purge
  std::set<tables::JobKeyRow> collected;  ///< their jobs

  /// Notes the allocations that a plan replaced. `after`: the state with the plan committed.
  void note(const plan::PlanRows& plan, const tables::Snapshot& after);
  /// Notes the allocations that are in `before` and no longer in `after`.
  void note(const tables::Snapshot& before, const tables::Snapshot& after);
};

/// The stored deployments, oldest first.
[[nodiscard]] std::vector<std::shared_ptr<const model::Deployment>> deployments_of(const tables::Snapshot& state);

/// Every table's own invariants, capacity and exclusive resources of every node (R-CTRL-1720, 1721), indexes (1730),
/// drains (1731), links (1732), deployments (1734), and that every stop has a reason. Checks of single allocations
/// cover those written after the index `since`.
void check_state(const tables::Snapshot& state, std::uint64_t since, const Exceptions& exceptions, Problems& problems);
/// A change keeps an allocation's node, job, group, name and amounts, and never takes back a stop by the server
/// (R-CTRL-1723).
void check_change(const tables::Snapshot& before, const tables::Snapshot& after, Problems& problems);
/// Job summaries equal the stored allocations. They may exceed them for failed and complete ones, and for jobs of which
/// allocations were collected (R-CTRL-1729).
void check_summaries(const tables::Snapshot& state, const fsm::StateLog& log, const Exceptions& exceptions,
                     Problems& problems);
/// A committed plan is stored per node completely or not at all (R-CTRL-1733), and its new allocations are on ready,
/// eligible nodes without a drain (R-CTRL-1731).
void check_commit(const tables::Snapshot& after, const plan::PlanRows& plan, const plan::ApplyResult& result,
                  tables::StateStore& store, Problems& problems);
/// The queues that hold pending and blocked evaluations (R-CTRL-1724 to 1727).
void check_queue(server::Server& server, Problems& problems);
/// Exactly the nodes that are not down have a heartbeat timer (R-CTRL-1731).
void check_heartbeats(const tables::Snapshot& state, const lifecycle::Heartbeats& heartbeats, Problems& problems);
/// Names are unique, except as in R-CTRL-1722. To be called when no evaluation is waiting.
///   unsettled      jobs whose plan was partly refused and not yet retried
///   once_refused   jobs that ever had a plan partly refused. If a returning node ended the retries, an allocation and
///                  its replacement may both have stayed (R-CTRL-615)
void check_names(const tables::Snapshot& state, const std::set<tables::JobKeyRow>& unsettled,
                 const std::set<tables::JobKeyRow>& once_refused, Problems& problems);

/// Each group of a service or batch job has exactly its count (R-CTRL-1728). To be called for a job without limits and
/// without waiting work.
void check_counts(const tables::Snapshot& state, tables::JobKeyRow key, const model::Job& job, Problems& problems);

}  // namespace berth::living
