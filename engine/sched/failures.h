// Results for the groups that an evaluation could not place, and the class verdicts of its blocked evaluation.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "model/eval.h"
#include "plan/metrics.h"
#include "tables/class_verdict.h"

namespace berth::sched {

/// Result for one task group: what was requested and what failed. Groups are in the order of R-RECON-9.
struct GroupResult {
  static constexpr std::int64_t kCountMax = std::numeric_limits<std::int32_t>::max();  ///< limit of coalesced failures
  tables::Symbol name = 0;
  bool in_job = false;  ///< the job has the group
  std::int64_t queued = 0;
  bool has_queued = false;        ///< a queued count exists for the group
  model::DesiredUpdates updates;  ///< annotation; only valid with has_updates (R-SCHED-192)
  bool has_updates = true;
  bool failed = false;
  plan::SelectMetrics failure;  ///< of the first failed placement; `coalesced` counts the others
  /// Groups whose resources the failure record adds up, with repetitions (R-SCHED-65): the group of the job's own
  /// version, unless a downgraded placement failed.
  struct Exhausted {
    const model::TaskGroup* group;
    std::int64_t times;
  };
  std::vector<Exhausted> exhausted;

  /// Records further failed placements of a group that failed before (R-SCHED-63).
  void coalesce(const model::TaskGroup* group, std::int64_t times = 1) {
    failure.coalesced = static_cast<std::int32_t>(std::min<std::int64_t>(failure.coalesced + times, kCountMax));
    exhaust(group, times);
  }
  /// Records the first failed placement (R-SCHED-66).
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

/// Feasibility verdicts that a blocked evaluation stores (R-FEAS-1701 to 1706).
struct Eligibility {
  bool escaped = false;
  tables::ClassVerdicts classes;               ///< by computed class
  std::vector<std::string> missing_resources;  ///< sorted
};

}  // namespace berth::sched
