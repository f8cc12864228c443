// A life at rest: nothing waits to be evaluated. Names are unique, nothing is missing, and evaluating a job once more,
// and again, changes nothing the second time.
#pragma once

#include <set>

#include "conform/life/life_server.h"

namespace berth::conform {

/// What the plans of a life did that later checks make exceptions for.
struct LifeLedger {
  std::set<tables::JobKeyRow> refused;       ///< jobs of which a plan was refused in part and not made anew
  std::set<tables::JobKeyRow> once_refused;  ///< jobs of which one ever was
  /// Jobs of which an allocation was renamed because its name stood twice in the index; the new name may be in use as
  /// well (R-SCHED-83, R-RECON-161).
  std::set<tables::JobKeyRow> renamed;
  std::set<base::Uuid> replaced;  ///< allocations whose stop was written as a copy (R-SCHED-94)
};

/// `job` may be null: only the state is looked at. True: the job was found at rest with all it asks for.
[[nodiscard]] bool check_rest(LifeServer& server, const LifeLedger& ledger,
                              const std::shared_ptr<const model::Job>& job, LifeWatch& watch);

}  // namespace berth::conform
