// A life at rest: nothing waits to be evaluated. Names are unique, nothing is missing, and evaluating a job once more,
// and again, changes nothing the second time.
#pragma once

#include <set>

#include "conform/life/life_queue.h"
#include "conform/life/life_server.h"

namespace berth::conform {

/// What the plans of a life did that later checks make exceptions for.
struct LifeLedger {
  std::set<tables::JobKeyRow> refused;       ///< jobs of which a plan was refused in part and not made anew
  std::set<tables::JobKeyRow> once_refused;  ///< jobs of which one ever was
  /// Jobs of which an allocation was renamed because its name stood twice in the index; the new name may be in use as
  /// well (R-SCHED-83, R-RECON-161).
  std::set<tables::JobKeyRow> renamed;
  living::Exceptions exceptions;

  /// A plan of the job was committed as far as it fit.
  void note(tables::JobKeyRow job, const plan::PlanRows& plan, const plan::ApplyResult& applied,
            const tables::Snapshot& after);
  /// An evaluation is over.
  void settle(const server::EvalRecord& eval);
};

/// Jobs that plan nothing when they are evaluated once more, and that nothing waits for, have what they ask for
/// (R-CTRL-1728); returns how many there are.
[[nodiscard]] std::uint64_t check_settled(server::Server& server, const LifeLedger& ledger, Problems& problems);

/// `job` may be null: only the state is looked at. True: the job was found at rest with all it asks for.
[[nodiscard]] bool check_rest(LifeServer& server, const LifeLedger& ledger,
                              const std::shared_ptr<const model::Job>& job, LifeWatch& watch);

}  // namespace berth::conform
