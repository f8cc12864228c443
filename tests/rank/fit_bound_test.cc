#include "rank/fit_bound.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "support/sanitized.h"

namespace berth::rank {
namespace {

TEST(FitBound, IsNeverBelowTheScoreAndSeldomFarAbove) {  // R-RANK-651, 652
  const FitBound bound;
  std::mt19937_64 random(7);
  const std::size_t rounds = berth::testing::rounds(200'000, 20);
  std::size_t near = 0;
  for (std::size_t i = 0; i < rounds; ++i) {
    // Empty to over-committed, sometimes negative, on the table's steps and between them.
    const std::int64_t cpu = 1 + static_cast<std::int64_t>(random() % 5'000),
                       memory = 512 * (1 + static_cast<std::int64_t>(random() % 64));
    std::int64_t cpu_used = cpu * static_cast<std::int64_t>(random() % 600) / 256 - cpu / 8;
    const std::int64_t memory_used = memory * static_cast<std::int64_t>(random() % 1'200) / 512;
    if (random() % 2 == 0) cpu_used = static_cast<std::int64_t>(random() % 10'000);
    const auto cpu_capacity = static_cast<double>(cpu), memory_capacity = static_cast<double>(memory);
    for (const FitAlgorithm algorithm : {FitAlgorithm::binpack, FitAlgorithm::spread}) {
      const double exact = fit_component(algorithm, cpu_used, cpu_capacity, memory_used, memory_capacity);
      const double most = bound.component(algorithm, cpu_used, 1 / cpu_capacity, memory_used, 1 / memory_capacity);
      ASSERT_LE(exact, most) << cpu_used << " of " << cpu << " MHz, " << memory_used << " of " << memory << " MiB";
      ASSERT_LE(most, 1.0);
      near += most - exact < 0.006;
    }
  }
  EXPECT_GT(near, rounds * 2 * 9 / 10);
}

TEST(FitBound, HoldsForEmptyAndOverfullNodes) {
  const FitBound bound;
  for (const FitAlgorithm algorithm : {FitAlgorithm::binpack, FitAlgorithm::spread})
    for (const std::int64_t cpu : {0, 100, 200, 250, -50})
      for (const std::int64_t memory : {0, 512, 1024, 1500, -64}) {
        const double exact = fit_component(algorithm, cpu, 100.0, memory, 512.0);
        EXPECT_LE(exact, bound.component(algorithm, cpu, 1 / 100.0, memory, 1 / 512.0)) << cpu << ' ' << memory;
      }
}

TEST(FitBound, HoldsForNodesWithoutCapacity) {  // 0 of 0 scores NaN, which nothing exceeds
  const FitBound bound;
  for (const FitAlgorithm algorithm : {FitAlgorithm::binpack, FitAlgorithm::spread})
    for (const std::int64_t used : {0, 5, -5}) {
      const double exact = fit_component(algorithm, used, 0.0, 10, 100.0);
      const double most = bound.component(algorithm, used, 1.0 / 0.0, 10, 1.0 / 100.0);
      EXPECT_FALSE(exact > most) << used;
      EXPECT_FALSE(std::isnan(most));
    }
}

}  // namespace
}  // namespace berth::rank
