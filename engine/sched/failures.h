// What an evaluation says of the groups that it could not place, and of the classes that it looked at.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "model/eval.h"
#include "model/job.h"
#include "plan/metrics.h"
#include "tables/class_verdict.h"

namespace berth::sched {

/// Per task group, in the order of R-RECON-9: what was asked, what failed.
struct GroupResult {
  static constexpr std::int64_t kCountMax = std::numeric_limits<std::int32_t>::max();  ///< of coalesced failures
  tables::Symbol name = 0;
  bool in_job = false;  ///< the job has the group
  std::int64_t queued = 0;
  bool has_queued = false;        ///< a queued count exists for it
  model::DesiredUpdates updates;  ///< annotation; has_updates says whether the group has an entry (R-SCHED-192)
  bool has_updates = true;
  bool failed = false;
  plan::SelectMetrics failure;  ///< of the first failed placement; `coalesced` counts the others
  /// R-SCHED-65: whose resources the failure record adds up, and how often; the definition of the job's own version
  /// unless a downgraded placement failed.
  struct Exhausted {
    const model::TaskGroup* group;
    std::int64_t times;
  };
  std::vector<Exhausted> exhausted;

  /// More failed placements of a group that failed before (R-SCHED-63).
  void coalesce(const model::TaskGroup* group, std::int64_t times = 1) {
    failure.coalesced = static_cast<std::int32_t>(std::min<std::int64_t>(failure.coalesced + times, kCountMax));
    exhaust(group, times);
  }
  /// The first one (R-SCHED-66).
  void fail(const plan::SelectMetrics& metrics, const model::TaskGroup* group) {
    failed = true;
    failure = metrics;
    exhaust(group, 1);
  }

 private:
  void exhaust(const model::TaskGroup* group, std::int64_t times) {
    if (exhausted.empty() || exhausted.back().group != group) exhausted.push_back({group, 0});
    exhausted.back().times += times;
  }
};

/// What a blocked evaluation remembers of the feasibility checks (R-FEAS-1701 to 1706).
struct Eligibility {
  bool escaped = false;
  tables::ClassVerdicts classes;               ///< by computed class
  std::vector<std::string> missing_resources;  ///< sorted
};

}  // namespace berth::sched
