// Result of a simulation ([life] of a workload): plain values, filled by LifeWatch and shown by life_report.h. Times
// are seconds of the virtual clock since the start, unless noted.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sim/histogram.h"

namespace berth::run {

/// Unavailability of a job, or of all jobs of a kind: allocations that were wanted but did not run.
struct Outage {
  std::string name;
  std::uint64_t jobs = 1;
  double wanted_s = 0, missing_s = 0;  ///< allocation-seconds
  std::int64_t worst = 0;              ///< most missing at once; for a kind, of any of its jobs
  std::int64_t missing_at_end = 0;
};

struct FaultResult {
  std::string what;
  double at_s = 0, until_s = -1;  ///< until_s < 0: until the end
  std::uint64_t nodes = 0, hit = 0, unharmed = 0, recovered = 0, ended = 0, away = 0;
  /// Per allocation of a service or batch job: from the fault until it or its replacement ran. recovery() makes a
  /// histogram on demand, because one takes 440 KiB and there may be hundreds of faults.
  std::vector<std::int64_t> recovery_ns;
  [[nodiscard]] sim::Histogram recovery() const;
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
  double from_s = 0, until_s = 0, times_base = 0;  ///< times_base: the highest rate relative to the base
  std::uint64_t evaluations = 0;
  std::string after;  ///< the last fault or event before it
};

struct StoryLine {
  double at_s = 0;
  std::string subject, what;
  std::vector<std::string> where;  ///< nodes
};

/// Evaluations of one trigger, job type and size, in the first and in the last hour of a simulation.
struct EvaluationCost {
  std::string what;              ///< "job-register batch"
  std::uint64_t placements = 0;  ///< 2^k: from 2^k to below 2^(k+1); 0: none
  std::uint64_t first = 0, last = 0;
  double first_s = 0, last_s = 0;  ///< processor time from reading the state until everything is written
};

struct LifeResult {
  double duration_s = 0, reached_s = 0, bucket_s = 1;
  // By bucket.
  std::vector<double> wanted, missing;  ///< allocations, mean
  std::vector<std::uint64_t> evaluations, placed;
  std::vector<double> cpu_s;                ///< berth's processor time
  std::vector<std::uint64_t> messages;      ///< from clients: heartbeats, pulls and requests
  std::vector<std::uint64_t> memory_bytes;  ///< of the process at the bucket's end; only buckets reached

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
  double lost_s = 0, repeated_s = 0;  ///< their allocation-seconds; of these, repeated by a replacement
  std::uint64_t allocs = 0, completed = 0, failed = 0, lost = 0, evicted = 0;
  std::uint64_t heartbeats = 0, pulls = 0, requests = 0, reports = 0;
  std::uint64_t events = 0;
  std::vector<std::string> refused;  ///< events that the servers refused, with reasons; at most 20
  std::uint64_t refused_count = 0;
  std::vector<StoryLine> story;
  bool story_cut = false;

  std::vector<EvaluationCost> costs;  ///< if has_hours()
  /// True for a complete simulation of at least two hours, whose first and last hour can be compared.
  [[nodiscard]] bool has_hours() const { return duration_s >= 2 * kHour && reached_s >= duration_s; }
  static constexpr double kHour = 3600;
  /// From this time on the memory should not grow.
  static constexpr double kSettled = 2 * kHour;
  /// Memory at kSettled; 0 if the simulation did not run longer.
  [[nodiscard]] std::uint64_t memory_when_settled() const;
  /// Evaluations per second of berth's processor time, over a part of the simulation.
  [[nodiscard]] double evaluations_per_cpu_s(double from_s, double until_s) const;
  struct Alike {
    double share = 0;  ///< share of the last hour's evaluations with similar ones in the first hour
    double rate = 0;   ///< their rate relative to the similar ones in the first hour; 0: none
    double rest_first_us = 0, rest_last_us = 0;  ///< all other work, per client message
  };
  /// `what`: one trigger and job type; empty: all.
  [[nodiscard]] Alike alike(std::string_view what = {}) const;
};

}  // namespace berth::run
