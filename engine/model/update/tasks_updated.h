// Detects whether a change of the job forces its allocations to be replaced (R-SCHED-103 to 107).
#pragma once

#include <string>

#include "model/quirks.h"
#include "model/resources.h"

namespace berth::model {

/// True if group `group` differs between the two versions in something that a running allocation cannot take over. If
/// false, only the in-place part of the decision is left (R-SCHED-108 ff.). A group that is missing on either side
/// counts as changed. Nomad compares every device request with the last one of its name; with the quirk
/// devices_compared_with_last off, all are compared as multisets. Not for hot paths: compute it once per job version,
/// group and evaluation, and cache the result.
[[nodiscard]] bool tasks_updated(const Job& old_job, const Job& new_job, const std::string& group,
                                 const Quirks& quirks = {});

}  // namespace berth::model
