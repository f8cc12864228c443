// Random lives: a small cluster and a few jobs live through registrations, scalings, updates, failures, drains,
// disconnects, promotions and stops, all drawn from one seed. Evaluations run through the schedulers and the plan
// applier; after each plan the invariants are checked and the applier of API objects must agree.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/options.h"

namespace berth::conform {

struct LifeOptions {
  std::uint64_t seed = 1;
  int steps = 12;
  bool compare_appliers = true;  ///< the slower part
  model::Options decisions;      ///< how they differ from Nomad's of today
};

struct LifeReport {
  std::uint64_t evaluations = 0, plans = 0, refused_plans = 0, allocations = 0, updates = 0, stops = 0, preemptions = 0,
                deployments = 0, at_rest = 0;  ///< the last: jobs found at rest with all they ask for
  std::vector<std::string> events;             ///< what happened, one line each
  std::vector<std::string> problems;           ///< the life ends at the first step that has some
};

[[nodiscard]] LifeReport run_life(const LifeOptions& options);

}  // namespace berth::conform
