#include "rank/exhaustive.h"

#include <gtest/gtest.h>

#include <cmath>

#include "on_every_target.h"
#include "rank/numbers.h"
#include "scan_cluster.h"

namespace berth::rank {
namespace {

TEST(ExhaustiveScan, FindsTheNodeOfTheObviousLoopOnEveryInstructionSet) {
  on_every_target([] {
    ExhaustiveScan scan;
    for (const std::size_t n : {0u, 1u, 63u, 64u, 65u, 200u, 4096u, 4097u})
      for (std::uint64_t seed = 0; seed < (n > 1000 ? 12u : 60u); ++seed) {
        const ScanCluster c = random_cluster(seed, n, seed % 4);
        for (const FitAlgorithm algorithm : {FitAlgorithm::binpack, FitAlgorithm::spread}) {
          const auto got = scan.best(algorithm, c.columns(), c.ask, c.feasible, c.visit_rank);
          const auto expected = c.oracle(algorithm);
          ASSERT_EQ(got.has_value(), expected.has_value()) << "n " << n << " seed " << seed;
          if (!got) continue;
          ASSERT_EQ(got->component, expected->component) << "n " << n << " seed " << seed;
          ASSERT_EQ(got->row, expected->row) << "n " << n << " seed " << seed;
          ASSERT_EQ(got->fitting, expected->fitting) << "n " << n << " seed " << seed;
        }
      }
  });
}

TEST(ExhaustiveScan, KeepsItsErrorBound) {
  on_every_target([] {
    ExhaustiveScan scan;
    double worst = 0;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      const ScanCluster c = random_cluster(seed, 4096, seed % 2 == 0 ? 0 : 3);
      static_cast<void>(scan.best(FitAlgorithm::binpack, c.columns(), c.ask, c.feasible));
      for (std::size_t i = 0; i < c.cpu.size(); ++i) {
        if (!c.fits(i)) {
          ASSERT_EQ(scan.keys()[i], INFINITY) << i;
          continue;
        }
        const double total = exact_pow10(free_fraction(c.cpu_used[i] + c.ask.cpu_mhz, c.cpu[i])) +
                             exact_pow10(free_fraction(c.memory_used[i] + c.ask.memory_mb, c.memory[i]));
        worst = std::max(worst, std::fabs(static_cast<double>(scan.keys()[i]) - total));
      }
    }
    EXPECT_LT(worst, kTotalError);
    EXPECT_GT(worst, kTotalError / 100) << "the measured error no longer means anything";
  });
}

TEST(ExhaustiveScan, PassesOverNodesWithoutCapacity) {
  ScanCluster c;
  c.add(0, 1000, 0, 0, 0);
  c.add(1000, 0, 0, 0, 0);
  c.all_feasible();
  ExhaustiveScan scan;
  EXPECT_FALSE(scan.best(FitAlgorithm::binpack, c.columns(), c.ask, c.feasible));
  c.add(1000, 1000, 10, 10, 0);
  c.all_feasible();
  EXPECT_EQ(scan.best(FitAlgorithm::spread, c.columns(), c.ask, c.feasible)->row, 2u);
}

}  // namespace
}  // namespace berth::rank
