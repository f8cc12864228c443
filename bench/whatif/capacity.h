// How much more fits into a cluster, for `berth capacity`.
//
// The engine gives every answer: a trial makes groups grow and lets the scheduler place them. It fills the cluster, so
// each trial runs in a copy of this process. fork() shares the memory of the loaded cluster; only pages that a trial
// writes are copied. So a cluster is loaded once for all trials, each begins with the same state, and several run at
// once. The program must not have started threads before.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "whatif/whatif.h"

namespace berth::whatif {

/// How far one group, or all groups together, can grow before an allocation finds no node.
struct Growth {
  std::string file;         ///< job file; "": the mix
  std::string job, group;   ///< for a mix: the group that found no node
  std::int64_t placed = 0;  ///< for a job file: placed allocations; for a mix: additional ones
  double factor = 0;        ///< for a mix: 1.37 is 37 % more of every group
  bool ended = false;       ///< false: the limit is beyond the tried growth
  std::string reasons;      ///< why the next one finds no node
};

struct Room {
  /// Largest growth of all groups together that fits, in whole percent. One percent more does not fit, if `ended`.
  Growth mix;
  std::vector<Growth> jobs;  ///< of each group of each job file, alone
  std::int64_t trials = 0;   ///< of the mix
};

/// `cluster` stays unchanged. Errors name a job file, or a trial that could not run.
[[nodiscard]] Result<Room, std::string> find_room(WhatIf& cluster, const std::vector<std::string>& files);

/// What the allocations of a state use on nodes that are up.
struct Used {
  double cpu_mhz = 0, memory_mb = 0;
};
[[nodiscard]] Used used_by(const model::ClusterState& state);

}  // namespace berth::whatif
