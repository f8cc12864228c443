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
  /// Per allocation of a service or batch job: from the fault until it or its replacement ran. There may be hundreds of
  /// faults, and a histogram takes 440 KiB: recovery() makes one when it is asked for.
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
  double from_s = 0, until_s = 0, times_base = 0;  ///< the highest rate against the base
  std::uint64_t evaluations = 0;
  std::string after;  ///< the last fault or event before it
};

struct StoryLine {
  double at_s = 0;
  std::string who, what;
  std::vector<std::string> where;  ///< nodes
};

/// Evaluations of one trigger, job type and size, in the first and in the last hour of a life.
struct EvaluationCost {
  std::string what;              ///< "job-register batch"
  std::uint64_t placements = 0;  ///< 2^k: so many, and less than twice as many; 0: none
  std::uint64_t first = 0, last = 0;
  double first_s = 0, last_s = 0;  ///< of processor time, from the first look at the state until all is written
};

struct LifeResult {
  double duration_s = 0, reached_s = 0, bucket_s = 1;
  // By bucket.
  std::vector<double> wanted, missing;  ///< allocations, mean
  std::vector<std::uint64_t> evaluations, placed;
  std::vector<double> cpu_s;                ///< processor time that it took berth
  std::vector<std::uint64_t> messages;      ///< of clients: heartbeats, pulls and requests
  std::vector<std::uint64_t> memory_bytes;  ///< of the process, at the bucket's end; as far as the life went

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

  std::vector<EvaluationCost> costs;  ///< of a life of two hours and more that went to its end
  /// Whether the first and the last hour can be held against each other.
  [[nodiscard]] bool has_hours() const { return duration_s >= 2 * kHour && reached_s >= duration_s; }
  static constexpr double kHour = 3600;
  /// From then on a life's memory can be asked to stay what it is.
  static constexpr double kSettled = 2 * kHour;
  /// 0: it was shorter than that, or is over then.
  [[nodiscard]] std::uint64_t memory_when_settled() const;
  /// Evaluations per second of berth's processor time, over a part of the life.
  [[nodiscard]] double evaluations_per_cpu_s(double from_s, double until_s) const;
  struct Alike {
    double share = 0;  ///< of the last hour's evaluations: those whose like came in the first hour as well
    double rate = 0;   ///< of these, against the rate of their like in the first hour; 0: there are none
    double rest_first_us = 0, rest_last_us = 0;  ///< all other work, per message of a client
  };
  /// `what`: of one trigger and job type; empty: of all.
  [[nodiscard]] Alike alike(std::string_view what = {}) const;
};

}  // namespace berth::run
