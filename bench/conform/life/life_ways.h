// The same evaluation by other ways, before it is processed: what must not matter does not.
//
//   twice       on tables loaded anew from the server's own export, by a scheduler that never saw anything else. What
//               the living tables keep from commit to commit (columns, chains, counts, caches of the scheduler) tells
//               nothing that the stored objects do not say.
//   general     without any of the fast ways through a Select
//   exhaustive  the first placement scores at least what the sampled one's does
// Everything that came out is compared as text: plans, created evaluations, the final status, all metrics.
#pragma once

#include <functional>

#include "conform/life/life_draw.h"
#include "server/server.h"

namespace berth::conform {

class LifeWays {
 public:
  using Problem = std::function<void(std::string)>;

  /// `problem` is called with each difference that is found.
  LifeWays(std::uint64_t seed, server::Server& server, Problem problem);

  /// States of so many rows (a node counts as eight) are loaded anew for every evaluation, larger ones for a share of
  /// them that keeps the cost of a life in proportion to its length.
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
  Draw draw_;  // of its own: what is checked changes no life
  sched::GenericScheduler exhaustive_;
  sched::Scratch general_scratch_;
  sched::GenericScheduler general_{general_scratch_};
};

}  // namespace berth::conform
