// What the real Nomad took for each evaluation of a workload, where that was recorded, beside what berth takes: sums
// per kind of job, which are the first part of the jobs' IDs, those with a spread apart.
//
// Times of two schedulers compare when they decide the same: the file names the digest of the decisions that its times
// are of, and who reports asks decided_alike().
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "berth/result.h"

namespace berth::run {

struct NomadTimes {
  struct Evaluation {
    std::uint32_t kind = 0;  ///< in `kinds`
    std::uint32_t placed = 0;
    std::int64_t schedule_ns = 0;  ///< from snapshot to plan; the smaller of two runs
    std::int64_t apply_ns = 0;     ///< checking the plan and applying it, likewise
  };
  struct Sums {
    std::uint64_t evaluations = 0, placed = 0;
    std::int64_t schedule_ns = 0, apply_ns = 0;
    void add(std::uint64_t allocs, std::int64_t schedule, std::int64_t apply) {
      ++evaluations, placed += allocs, schedule_ns += schedule, apply_ns += apply;
    }
  };
  struct Kind {
    std::string name;
    Sums nomad, berth;
  };

  std::string path, digest;             ///< the file; of the decisions
  std::vector<Evaluation> evaluations;  ///< by number of the job's arrival
  std::vector<Kind> kinds;

  /// One of berth's, of the arrival with that number, from 1; those of jobs that are not in the file do not count.
  void add(std::uint64_t arrival, std::uint64_t placed, std::int64_t schedule_ns, std::int64_t apply_ns) {
    if (arrival - 1 < evaluations.size()) kinds[evaluations[arrival - 1].kind].berth.add(placed, schedule_ns, apply_ns);
  }
  [[nodiscard]] bool decided_alike(const std::string& decisions_digest) const { return decisions_digest == digest; }
  [[nodiscard]] Kind all() const;
};

/// Reads datasets/nomad-NAME.csv.gz; errors name the line and what is wrong with it.
[[nodiscard]] Result<NomadTimes> read_nomad_times(const std::string& path);

}  // namespace berth::run
