// What must hold of the state after every step of a life (R-CTRL-1720 to 1735), whatever happened. The exceptions that
// the specification makes, or that follow from what Nomad does, are named at the checks.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "lifecycle/heartbeats.h"
#include "server/server.h"

namespace berth::living {

using Problems = std::vector<std::string>;

/// What happened before that the checks of a state make exceptions for.
struct Exceptions {
  std::set<base::Uuid> replaced;  ///< allocations whose stop was written as a copy, which may say nothing (R-SCHED-94)
  std::set<base::Uuid> removed;   ///< allocations that garbage collection, or a purge, took
  std::set<tables::JobKeyRow> collected;  ///< their jobs

  /// Notes what a plan replaced; `after` it was committed.
  void note(const plan::PlanRows& plan, const tables::Snapshot& after);
  /// Notes what is gone from one state to the next.
  void note(const tables::Snapshot& before, const tables::Snapshot& after);
};

/// The stored deployments, oldest first.
[[nodiscard]] std::vector<std::shared_ptr<const model::Deployment>> deployments_of(const tables::Snapshot& state);

/// Every table's own invariants, capacity and exclusive resources of every node (R-CTRL-1720, 1721), indexes (1730),
/// drains (1731), links (1732), deployments (1734), and that every stop says why. What is asked of single allocations
/// is asked of those that were written after the index `since`.
void check_state(const tables::Snapshot& state, std::uint64_t since, const Exceptions& exceptions, Problems& problems);
/// What a change may not touch: an allocation's node, job, group, name and amounts, and that the server's verdict is
/// final (R-CTRL-1723).
void check_change(const tables::Snapshot& before, const tables::Snapshot& after, Problems& problems);
/// The job summaries count what is stored; of what failed or ended, and of jobs of which something was collected, at
/// least that (R-CTRL-1729).
void check_summaries(const tables::Snapshot& state, const fsm::StateLog& log, const Exceptions& exceptions,
                     Problems& problems);
/// Every node of a committed plan got all or nothing (R-CTRL-1733), and new allocations are on nodes that take some
/// (R-CTRL-1731).
void check_commit(const tables::Snapshot& after, const plan::PlanRows& plan, const plan::ApplyResult& result,
                  tables::StateStore& store, Problems& problems);
/// Where evaluations stand between their writing and their end (R-CTRL-1724 to 1727).
void check_queue(server::Server& server, Problems& problems);
/// Which nodes have a heartbeat timer (R-CTRL-1731).
void check_heartbeats(const tables::Snapshot& state, const lifecycle::Heartbeats& heartbeats, Problems& problems);
/// Once nothing is waiting to be evaluated: names are unique but for the exceptions of R-CTRL-1722; `unsettled` are the
/// jobs of which a plan was refused in part and not yet made anew. `once_refused`: jobs of which one was ever refused
/// in part; where a node that comes back ended the retries, an allocation and its replacement may both have stayed
/// (R-CTRL-615).
void check_names(const tables::Snapshot& state, const std::set<tables::JobKeyRow>& unsettled,
                 const std::set<tables::JobKeyRow>& once_refused, Problems& problems);

/// Of a job at rest that nothing limits and nothing waits for: each group of a service or batch job has what it asks
/// for, and no more (R-CTRL-1728).
void check_counts(const tables::Snapshot& state, tables::JobKeyRow key, const model::Job& job, Problems& problems);

}  // namespace berth::living
