#include "rank/fit_index.h"

#include <gtest/gtest.h>

#include "index_cluster.h"
#include "support/sanitized.h"

namespace berth::rank {
namespace {

/// The index's answer, row and score to the last bit, equals that of the simple loop.
void expect_oracle(FitIndex& index, const IndexCluster& c, const std::string& where) {
  for (const FitAlgorithm algorithm : {FitAlgorithm::binpack, FitAlgorithm::spread}) {
    const auto got = index.best(algorithm, c.columns(), c.ask, c.feasible, c.visit_rank);
    const auto expected = c.oracle(algorithm);
    ASSERT_EQ(got.has_value(), expected.has_value()) << where;
    if (!got) continue;
    ASSERT_EQ(got->component, expected->component) << where;
    ASSERT_EQ(got->row, expected->row) << where;
  }
}

TEST(FitIndex, FindsTheNodeOfALinearSearchAfterAnyChange) {
  const std::uint64_t seeds = testing::rounds(60);
  for (const std::size_t n : {0U, 1U, 63U, 200U, 1500U})
    for (std::uint64_t seed = 0; seed < (n > 1000 ? seeds / 5 : seeds); ++seed) {
      IndexCluster c = random_cluster(seed, n, seed % 4);
      FitIndex index;  // kind 0: every node is a shape of its own, most of them beyond kShapes
      index.build(c.columns());
      std::mt19937_64 random(seed);
      const auto below = [&](std::int64_t k) {
        return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(k));
      };
      for (int step = 0; step < 40; ++step) {
        const std::string where =
            "n " + std::to_string(n) + " seed " + std::to_string(seed) + " step " + std::to_string(step);
        ASSERT_NO_FATAL_FAILURE(expect_oracle(index, c, where));
        for (std::size_t change = 0; n > 0 && change < n / 4 + 1; ++change) {
          const auto row = static_cast<std::uint32_t>(random() % n);
          // In eighths, so that many nodes are equal; otherwise sometimes slightly over capacity.
          const auto use = [&](double capacity) {
            const auto all = static_cast<std::int64_t>(capacity);
            return step % 3 == 0 ? below(all + all / 20 + 1) : all / 8 * below(9);
          };
          c.set_use(row, use(c.cpu[row]), use(c.memory[row]));
          c.disk_free[row] = static_cast<std::int32_t>(below(900));
          index.update(c.columns(), row);
        }
        c.ask = {static_cast<std::int32_t>(below(2000)), static_cast<std::int32_t>(below(4000)),
                 static_cast<std::int32_t>(below(400))};
        if (step % 5 == 0) c.ask = {};
      }
    }
}

TEST(FitIndex, PlacesSuccessiveRequestsLikeALinearSearch) {
  IndexCluster c;
  std::mt19937_64 random(7);
  for (int i = 0; i < 600; ++i) {
    const std::int64_t scale = 1 + static_cast<std::int64_t>(random() % 3);
    c.add(8000 * scale, 16'384 * scale, 0, 0, 100'000);
  }
  c.all_feasible();
  FitIndex index;
  index.build(c.columns());
  for (std::uint64_t ask = 0; ask < testing::rounds(6000); ++ask) {
    c.ask = {static_cast<std::int32_t>(100 * (1 + random() % 20)), static_cast<std::int32_t>(128 * (1 + random() % 30)),
             10};
    const auto best = index.best(FitAlgorithm::binpack, c.columns(), c.ask, c.feasible);
    const auto expected = c.oracle(FitAlgorithm::binpack);
    ASSERT_EQ(best.has_value(), expected.has_value()) << ask;
    if (!best) break;  // full
    ASSERT_EQ(best->row, expected->row) << ask;
    ASSERT_EQ(best->component, expected->component) << ask;
    c.set_use(best->row, c.cpu_used[best->row] + c.ask.cpu_mhz, c.memory_used[best->row] + c.ask.memory_mb);
    index.update(c.columns(), best->row);
  }
}

TEST(FitIndex, FailingKindsAreSkipped) {
  for (std::uint64_t seed = 0; seed < testing::rounds(40); ++seed) {
    IndexCluster c = random_cluster(seed, 400, 1 + seed % 3);
    std::mt19937_64 random(seed);
    std::vector<std::uint32_t> kinds(400);
    for (auto& kind : kinds) kind = static_cast<std::uint32_t>(random() % 5);
    c.visit_rank.clear();
    FitIndex index;
    index.build(c.columns(), kinds);
    for (int step = 0; step < 20; ++step) {
      std::vector<std::uint8_t> passes(5);
      for (auto& kind : passes) kind = random() % 2 == 0;
      for (std::size_t i = 0; i < 400; ++i) {
        const std::uint64_t bit = std::uint64_t{1} << i % 64;
        c.feasible[i / 64] = passes[kinds[i]] ? c.feasible[i / 64] | bit : c.feasible[i / 64] & ~bit;
      }
      const auto got = index.best(FitAlgorithm::binpack, c.columns(), c.ask, {}, {}, passes);
      const auto expected = c.oracle(FitAlgorithm::binpack);
      ASSERT_EQ(got.has_value(), expected.has_value()) << "seed " << seed << " step " << step;
      if (!got) continue;
      ASSERT_EQ(got->row, expected->row) << "seed " << seed << " step " << step;
      ASSERT_EQ(got->component, expected->component);
      // Excluded, as if the caller scored it in another way; sometimes all tiles are changed in between.
      c.cpu_free[got->row] = -1;
      index.update(c.columns(), got->row);
    }
  }
}

TEST(FitIndex, VisitsFewGroups) {
  const IndexCluster c = [] {
    IndexCluster made;
    std::mt19937_64 random(3);
    for (int i = 0; i < 10'000; ++i) {
      const std::int64_t scale = 1 + static_cast<std::int64_t>(random() % 5);
      made.add(8000 * scale, 16'384 * scale, static_cast<std::int64_t>(random() % 8000) * scale,
               static_cast<std::int64_t>(random() % 16'384) * scale, 100'000);
    }
    made.all_feasible();
    made.ask = {500, 1000, 10};
    return made;
  }();
  FitIndex index;
  index.build(c.columns());
  static_cast<void>(index.best(FitAlgorithm::binpack, c.columns(), c.ask, c.feasible));
  static_cast<void>(index.best(FitAlgorithm::spread, c.columns(), c.ask, c.feasible));
  EXPECT_GT(index.visits(), 0U);
  EXPECT_LT(index.visits(), 500U) << "of 10,000 nodes, twice";
}

TEST(FitIndex, SkipsNodesWithoutCapacity) {  // R-RANK-104
  IndexCluster c;
  c.add(0, 1000, 0, 0, 0);
  c.add(1000, 0, 0, 0, 0);
  c.all_feasible();
  FitIndex index;
  index.build(c.columns());
  EXPECT_FALSE(index.best(FitAlgorithm::binpack, c.columns(), c.ask, c.feasible));
}

}  // namespace
}  // namespace berth::rank
