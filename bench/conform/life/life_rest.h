// Checks of a simulation at rest, when no evaluation is waiting: names are unique, no allocation is missing, and of two
// more evaluations of a job the second changes nothing.
#pragma once

#include <set>

#include "conform/life/life_queue.h"
#include "conform/life/life_server.h"

namespace berth::conform {

/// Earlier events of plans for which later checks make exceptions.
struct LifeLedger {
  std::set<tables::JobKeyRow> refused;       ///< jobs with a plan partly refused and not retried yet
  std::set<tables::JobKeyRow> once_refused;  ///< jobs that ever had one
  /// Jobs with an allocation that was renamed because its name occurred twice in the index; the new name may be used
  /// too (R-SCHED-83, R-RECON-161). Also jobs with names by the rules of another type: an evaluation of a purged job
  /// stays queued (R-CTRL-742), and its scheduler then places what was registered under that ID since.
  std::set<tables::JobKeyRow> renamed;
  living::Exceptions exceptions;

  /// Notes a plan for the job, by the scheduler of `type`, that was committed as far as it fit.
  void note(tables::JobKeyRow job, const std::string& type, const plan::PlanRows& plan,
            const plan::ApplyResult& applied, const tables::Snapshot& after);
  /// Notes the end of an evaluation.
  void settle(const server::EvalRecord& eval);
};

/// Checks that jobs without waiting work, for which another evaluation plans nothing, have their counts (R-CTRL-1728).
/// Returns their number.
[[nodiscard]] std::uint64_t check_settled(server::Server& server, const LifeLedger& ledger, Problems& problems);

/// `job` may be null: checks only the state. True: the job was at rest with complete counts.
[[nodiscard]] bool check_rest(LifeServer& server, const LifeLedger& ledger,
                              const std::shared_ptr<const model::Job>& job, LifeWatch& watch);

}  // namespace berth::conform
