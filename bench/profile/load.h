// `berth load`: finds the highest sustained rate of arrivals of a workload, per number of workers.
#pragma once

#include <algorithm>

#include "base/json.h"
#include "profile/knee.h"
#include "profile/session.h"

namespace berth::profile {

struct LoadOptions {
  bool quiet = false;
  std::vector<std::int64_t> workers = {1};
  std::int64_t limit_ns = 10'000'000;                          ///< of p99, from due time to commit, per placement
  double least_placed = 0.99;                                  ///< required share of the requested placements
  double trial_seconds = 2;                                    ///< of arrivals in one trial
  double max_seconds = 120;                                    ///< in total
  SearchOptions search{.first_rate = 0, .highest_rate = 1e6};  ///< first rate 0: a quarter of the workload's, or 10/s
};

/// One trial; latencies in ns.
struct LoadTrial {
  std::int64_t workers = 1;
  double rate = 0;      ///< evaluations of new jobs offered per second
  std::string why_not;  ///< "": sustained
  std::uint64_t evaluations = 0;
  Placements placements;
  double seconds = 0, busy_s = 0;  ///< until every job was evaluated once; busy time of the whole run
  sim::Histogram latency, queue;   ///< per placement
  Backlog backlog;
  [[nodiscard]] double placements_per_s() const {
    return seconds <= 0 ? 0 : static_cast<double>(placements.placed) / seconds;
  }
  [[nodiscard]] double busy_share() const { return seconds <= 0 ? 0 : std::min(1.0, busy_s / seconds); }
};

struct LoadKnee {
  std::int64_t workers = 1;
  SearchResult search;
  std::unique_ptr<const Recorder> recorder;  ///< of a run at the knee; null if there is none
  StageTable stages;
};

struct Load {
  run::RunResult head;  ///< of the last trial: workload, build and machine for reports
  LoadOptions options;
  std::vector<LoadTrial> trials;  ///< in order
  std::vector<LoadKnee> knees;    ///< per number of workers
  double seconds = 0;
  bool interrupted = false;
  [[nodiscard]] bool complete() const;  ///< every search found an answer
};

/// Errors: those of the workload's data; a workload without arrivals.
[[nodiscard]] Result<Load> run_load(const sim::Workload& workload, const LoadOptions& options);

inline constexpr int kLoadVersion = 1;
[[nodiscard]] std::string to_table(const Load& load);
[[nodiscard]] json::Value to_json(const Load& load);

}  // namespace berth::profile
