// PackingTrial and PackingWorlds: one workload packed by many strategies, and step by step by the caller.
#include "berth/packing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

namespace berth {
namespace {

TEST(PackingTrial, PacksLikeASingleRun) {
  const auto trial = PackingTrial::prepare("quickstart", "smoke", 1);
  ASSERT_TRUE(trial) << trial.error().line();
  for (const char* strategy : {"best-fit", "random", "expr:-left_cpu"}) {
    const auto once = pack("quickstart", "smoke", 1, strategy), run = trial->pack(strategy),
               again = trial->pack(strategy);
    ASSERT_TRUE(once && run && again) << strategy;
    EXPECT_EQ(run->digest, once->digest) << strategy;
    EXPECT_EQ(run->digest, again->digest) << strategy << ": a run leaves nothing behind";
    EXPECT_EQ(run->used_percent, once->used_percent);
  }
  EXPECT_NE(trial->pack("best-fit")->digest, trial->pack("worst-fit")->digest);
  EXPECT_FALSE(trial->pack("no-such"));
  EXPECT_FALSE(PackingTrial::prepare("recover-lost", "smoke", 1));
}

struct Emptiest {
  double score(const strategy::Node& node, const strategy::TaskClass&) const { return node.free(strategy::kCpu); }
};
TEST(PackingTrial, TakesStrategiesOfAnotherRegistry) {
  const auto trial = PackingTrial::prepare("quickstart", "smoke", 2);
  ASSERT_TRUE(trial);
  strategy::Registry own;
  own.add("emptiest", "most free cpu", Emptiest{});
  const auto run = trial->pack({"emptiest", {}}, own), formula = trial->pack("expr:free_cpu");
  ASSERT_TRUE(run && formula);
  EXPECT_EQ(run->digest, formula->digest);
  EXPECT_FALSE(trial->pack("emptiest")) << "it is in the other registry only";
}

/// Plays a world to its end: the row with the greatest score, or the first one.
PackingWorlds::Outcome play(PackingWorlds& worlds, std::size_t world, bool emptiest) {
  std::vector<std::int64_t> rows(worlds.count(), -1);
  std::vector<std::int32_t> missed(worlds.count());
  const std::size_t n = worlds.nodes();
  while (!worlds.ended(world)) {
    const auto mask = worlds.masks().subspan(world * n, n);
    const auto states = worlds.states().subspan(world * n, n);
    std::int64_t best = -1;
    for (std::size_t row = 0; row < n; ++row)
      if (mask[row] != 0 &&
          (best < 0 || (emptiest && states[row].free[0] > states[static_cast<std::size_t>(best)].free[0])))
        best = static_cast<std::int64_t>(row);
    EXPECT_GE(best, 0) << "a world that goes on has a feasible row";
    std::fill(rows.begin(), rows.end(), -1);
    rows[world] = best;
    worlds.step(rows, missed);
  }
  return worlds.outcome(world);
}

TEST(PackingWorlds, DigestOfChoicesIsThatOfTheirStrategy) {
  for (const char* workload : {"quickstart", "openb-like"}) {  // with departures, and without
    const auto trial = PackingTrial::prepare(workload, "smoke", 1);
    ASSERT_TRUE(trial);
    PackingWorlds worlds(*trial, 3);
    EXPECT_EQ(worlds.states().size(), 3 * worlds.nodes());
    const auto first_fit = trial->pack("first-fit"), emptiest = trial->pack("expr:free_cpu");
    ASSERT_TRUE(first_fit && emptiest);
    // The other worlds miss their tasks meanwhile, so that they end as well.
    EXPECT_EQ(play(worlds, 1, false).digest, first_fit->digest) << workload;
    worlds.restart(2);
    EXPECT_EQ(play(worlds, 2, true).digest, emptiest->digest) << workload;
    worlds.restart(1);
    const auto outcome = play(worlds, 1, true);
    EXPECT_EQ(outcome.digest, emptiest->digest) << workload << ": a world begins again as it was";
    EXPECT_DOUBLE_EQ(100.0 * static_cast<double>(outcome.placed) / static_cast<double>(outcome.asked),
                     emptiest->placed_percent);
  }
}

TEST(PackingWorlds, RowNumbersOfAllWorldsFitThirtyTwoBits) {
  const auto trial = PackingTrial::prepare("openb-like", "smoke", 1);
  ASSERT_TRUE(trial);
  const std::uint64_t nodes = PackingWorlds(*trial, 1).nodes(), most = PackingWorlds::count_max(*trial);
  ASSERT_GT(nodes, 1U);
  EXPECT_LE(most * nodes, std::uint64_t{UINT32_MAX});
  EXPECT_GT((most + 1) * nodes, std::uint64_t{UINT32_MAX});
}

TEST(PackingWorlds, ChoosingARowOutsideTheMaskMissesTheTask) {
  const auto trial = PackingTrial::prepare("openb-like", "smoke", 1);
  ASSERT_TRUE(trial);
  PackingWorlds worlds(*trial, 2);
  const std::vector<strategy::Amounts> before{worlds.states()[0].free, worlds.states()[worlds.nodes()].free};
  std::vector<std::int32_t> missed(2);
  const std::vector<std::int64_t> outside{-1, static_cast<std::int64_t>(worlds.nodes())};
  worlds.step(outside, missed);
  EXPECT_GE(missed[0], 1);
  EXPECT_EQ(missed[0], missed[1]) << "the same tasks";
  EXPECT_EQ(worlds.states()[0].free, before[0]);
  EXPECT_EQ(worlds.outcome(0).placed, 0U);
  EXPECT_EQ(worlds.outcome(0).digest, worlds.outcome(1).digest);
}

}  // namespace
}  // namespace berth
