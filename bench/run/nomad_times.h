// Recorded times of the real Nomad for each evaluation of a workload, compared with berth's: sums per kind of job,
// which is the first part of the jobs' IDs, with spread jobs separate.
//
// Times are comparable only if both schedulers decide the same. The file contains the digest of Nomad's decisions;
// reports must check decided_alike().
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
    std::int64_t apply_ns = 0;     ///< checking and applying the plan; the smaller of two runs
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

  std::string path, digest;             ///< the file; digest of the decisions
  std::vector<Evaluation> evaluations;  ///< by number of the job's arrival
  std::vector<Kind> kinds;

  /// Adds berth's evaluation of the arrival with that number, from 1. Ignores jobs that are not in the file.
  void add(std::uint64_t arrival, std::uint64_t placed, std::int64_t schedule_ns, std::int64_t apply_ns) {
    if (arrival - 1 < evaluations.size()) kinds[evaluations[arrival - 1].kind].berth.add(placed, schedule_ns, apply_ns);
  }
  [[nodiscard]] bool decided_alike(const std::string& decisions_digest) const { return decisions_digest == digest; }
  [[nodiscard]] Kind all() const;
};

/// Reads datasets/nomad-NAME.csv.gz; errors name the line and the problem.
[[nodiscard]] Result<NomadTimes> read_nomad_times(const std::string& path);

}  // namespace berth::run
