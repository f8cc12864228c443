// The index of scores compared with a simple loop: the best, ties and the list of the five best.
#include "rank/best_index.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace berth::rank {
namespace {

TEST(BestIndex, AgreesWithALinearSearchAfterAnyChange) {
  for (const std::size_t n : {1u, 7u, 8u, 9u, 63u, 64u, 65u, 512u, 513u, 4097u})
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      std::mt19937_64 random(seed * 1000 + n);
      // Few values, so that ties are common. Seed 1: ascending; seed 2: all equal. Some are absent.
      std::size_t next = 0;
      const auto draw = [&]() -> double {
        if (random() % 5 == 0) return BestIndex::kAbsent;
        if (seed == 1) return static_cast<double>(next++);
        if (seed == 2) return 0.5;
        return static_cast<double>(random() % (seed == 3 ? 1'000'000 : 7)) / 7 - 0.2;
      };
      std::vector<double> scores(n);
      for (double& score : scores) score = draw();
      BestIndex index;
      index.build(scores);
      for (int change = 0; change < (n > 1000 ? 60 : 200); ++change) {
        // Mostly the best score changes, as with placements; sometimes another.
        std::size_t best = n;
        TopScores top;
        for (std::size_t i = 0; i < n; ++i) {
          if (scores[i] == BestIndex::kAbsent) continue;
          top.push(static_cast<std::uint32_t>(i), scores[i]);
          if (best == n || scores[i] > scores[best]) best = i;
        }
        const BestIndex::Best got = index.best();
        ASSERT_EQ(got.i, best) << "n " << n << " seed " << seed << " change " << change;
        ASSERT_EQ(got.score, best == n ? BestIndex::kAbsent : scores[best]);
        TopScores of_index = index.top();
        const auto expected_list = top.take();
        const std::vector<ScoredNode> expected(expected_list.begin(), expected_list.end());
        const auto list = of_index.take();
        ASSERT_EQ(list.size(), expected.size());
        for (std::size_t i = 0; i < list.size(); ++i) {
          ASSERT_EQ(list[i].id, expected[i].id) << "n " << n << " seed " << seed << " change " << change;
          ASSERT_EQ(list[i].score, expected[i].score);
        }
        const std::size_t from = random() % (n + 1);
        const double floor = draw();
        std::size_t above = from;
        while (above < n && !(scores[above] > floor)) ++above;
        ASSERT_EQ(index.next_above(static_cast<std::uint32_t>(from), floor), above);

        const std::size_t changed = best == n || random() % 4 == 0 ? random() % n : best;
        scores[changed] = draw();
        index.set(static_cast<std::uint32_t>(changed), scores[changed]);
      }
    }
}

TEST(BestIndex, IsEmptyWithoutScores) {
  BestIndex index;
  index.build({});
  EXPECT_EQ(index.best().i, 0u);
  EXPECT_EQ(index.best().score, BestIndex::kAbsent);
  EXPECT_EQ(index.top().size(), 0u);
  const std::vector<double> one{1.0};
  index.build(one);  // once more
  EXPECT_EQ(index.best().i, 0u);
  EXPECT_EQ(index.best().score, 1.0);
}

}  // namespace
}  // namespace berth::rank
