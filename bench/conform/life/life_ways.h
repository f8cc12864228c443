// Decides the same evaluation in other ways before it is processed, and compares.
//
//   twice       by a new scheduler on tables freshly loaded from the server's export, to check that data maintained
//               from commit to commit (columns, chains, counts, caches) agrees with the stored objects
//   general     without the fast sources of a Select
//   exhaustive  the first placement must score at least as high as the sampled one
// All results are compared as text: plans, created evaluations, the final status, all metrics.
#pragma once

#include <functional>

#include "conform/life/life_draw.h"
#include "sched/generic.h"
#include "server/server.h"

namespace berth::conform {

class LifeWays {
 public:
  using Problem = std::function<void(std::string)>;

  /// Calls `problem` with each difference.
  LifeWays(std::uint64_t seed, server::Server& server, Problem problem);

  /// States of at most this many rows (a node counts as eight) are loaded for every evaluation, larger ones less often,
  /// so that the cost of a simulation is proportional to its length.
  static constexpr std::uint64_t kSmall = 150;
  void check(const tables::Snapshot& snapshot, const sched::EvalFacts& facts, const model::Evaluation& eval);
  [[nodiscard]] std::uint64_t twice() const { return twice_; }

 private:
  void check_twice(const tables::Snapshot& snapshot, const sched::EvalFacts& facts, const model::Evaluation& eval);
  void check_general(const tables::Snapshot& snapshot, const sched::EvalFacts& facts, const model::Evaluation& eval,
                     bool exhaustive);
  void check_exhaustive(const tables::Snapshot& snapshot, const sched::EvalFacts& facts, const model::Evaluation& eval);
  void compare(const model::Evaluation& eval, std::string_view one_way, const std::string& one,
               std::string_view other_way, const std::string& other);

  std::uint64_t seed_, checked_ = 0, twice_ = 0;
  server::Server& server_;
  Problem problem_;
  Draw draw_;  // separate, so that checks do not change the simulation
  sched::GenericScheduler exhaustive_;
  sched::Scratch general_scratch_;
  sched::GenericScheduler general_{general_scratch_};
};

}  // namespace berth::conform
