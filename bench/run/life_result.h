// What a life came to: plain values, filled by LifeWatch and shown by life_report.h. Times in seconds of the virtual
// clock from the beginning of the life, unless a name says otherwise.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sim/histogram.h"

namespace berth::run {

/// Allocations of a job, or of all jobs of a kind, that were wanted and did not run.
struct Outage {
  std::string name;
  std::uint64_t jobs = 1;
  double wanted_s = 0, missing_s = 0;  ///< allocation-seconds
  std::int64_t worst = 0;              ///< missing at once; of a kind, the worst of its jobs
  std::int64_t missing_at_end = 0;
};

struct FaultResult {
  std::string what;
  double at_s = 0, until_s = -1;  ///< until_s < 0: for good
  std::uint64_t nodes = 0, hit = 0, unharmed = 0, recovered = 0, ended = 0, away = 0;
  sim::Histogram
      recovery_ns;  ///< per allocation of a service or batch job: from the fault until it or its replacement ran
};

struct DeploymentResult {
  std::string job, status, description;
  std::uint64_t version = 0;
  double at_s = 0, length_s = 0;
};

struct DrainResult {
  std::string node;
  double at_s = 0, length_s = 0;
  bool completed = false;
};

/// A time with many more evaluations than usual.
struct Storm {
  double from_s = 0, until_s = 0, times_base = 0;  ///< the highest rate against the base
  std::uint64_t evaluations = 0;
  std::string after;  ///< the last fault or event before it
};

struct StoryLine {
  double at_s = 0;
  std::string who, what;
  std::vector<std::string> where;  ///< nodes
};

struct LifeResult {
  double duration_s = 0, reached_s = 0, bucket_s = 1;
  // By bucket.
  std::vector<double> wanted, missing;  ///< allocations, mean
  std::vector<std::uint64_t> evaluations, placed;
  std::vector<double> cpu_s;  ///< processor time that it took berth

  std::vector<Outage> kinds, worst_jobs;
  std::vector<FaultResult> faults;
  sim::Histogram recovery_ns;  ///< of all faults
  std::vector<DeploymentResult> deployments;
  std::vector<std::pair<std::string, std::uint64_t>> deployments_by_status;
  std::vector<DrainResult> drains;
  sim::Histogram drain_ns;
  std::uint64_t drains_completed = 0, drains_ended = 0;
  std::vector<Storm> storms;
  double base_rate = 0;  ///< evaluations per second: the median of the buckets
  std::vector<std::pair<std::string, std::uint64_t>> triggers;
  std::uint64_t lost_runs = 0;        ///< runs of batch tasks that ended without success
  double lost_s = 0, repeated_s = 0;  ///< their allocation-seconds; of these, what a replacement does again
  std::uint64_t allocs = 0, completed = 0, failed = 0, lost = 0, evicted = 0;
  std::uint64_t heartbeats = 0, pulls = 0, requests = 0, reports = 0;
  std::uint64_t events = 0;
  std::vector<std::string> refused;  ///< events that the servers refused, and why; at most 20
  std::uint64_t refused_count = 0;
  std::vector<StoryLine> story;
  bool story_cut = false;

  /// Evaluations per second of berth's processor time, over a part of the life.
  [[nodiscard]] double evaluations_per_cpu_s(double from_s, double until_s) const;
};

}  // namespace berth::run
