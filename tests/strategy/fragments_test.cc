#include "strategy/fragments.h"

#include <gtest/gtest.h>

#include <cmath>

#include "builders.h"

namespace berth::strategy {
namespace {

TEST(Fragments, FollowTheExample) {  // R-STRAT-217
  const auto tables = testing::example_tables();
  const std::vector<std::int16_t> devices = {200, 1000, 500, 1000};
  const FragmentCases q = tables->cases(0, 8000, devices);
  const double expected[] = {0, 170, 1450, 540, 270, 0, 270};
  for (std::size_t i = 0; i < q.size(); ++i) EXPECT_DOUBLE_EQ(q[i], expected[i]) << i;
  EXPECT_DOUBLE_EQ(tables->exact(0, 8000, devices), 1250);
}

TEST(Fragments, SpecsAreSplitAtBars) {  // R-STRAT-104
  EXPECT_TRUE(spec_accepts("", "T4"));
  EXPECT_TRUE(spec_accepts("||", "T4"));
  EXPECT_TRUE(spec_accepts("V100M16|T4|T4", "T4"));
  EXPECT_FALSE(spec_accepts("V100M16|T4x", "T4"));
  EXPECT_FALSE(spec_accepts("T4", ""));
}

TEST(Fragments, TypicalWorkloadStopsAtTheThreshold) {  // R-STRAT-202 to 205
  // 60 + 30 = 90 of 100 are less than 95; the class that reaches the threshold is included; ties by cpu, then share,
  // descending.
  const auto m = typical_workload({{1000, 1, 500, "", 4},
                                   {2000, 1, 500, "", 4},
                                   {500, 0, 0, "", 30},
                                   {4000, 1, 1000, "", 59},
                                   {4000, 1, 1000, "", 1},
                                   {2000, 1, 700, "", 2}});
  ASSERT_EQ(m.size(), 4U);
  EXPECT_EQ(m[0].count, 60U);
  EXPECT_EQ(m[1].cpu, 500);
  EXPECT_EQ(m[2].cpu, 2000);
  EXPECT_EQ(m[3].cpu, 1000);
  EXPECT_DOUBLE_EQ(m[0].popularity, 0.60 / 0.98);
  EXPECT_TRUE(typical_workload({}).empty());
  const auto all = typical_workload({{1000, 1, 500, "", 3}, {1, 0, 0, "", 1}}, {.threshold_percent = 100});
  EXPECT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].popularity, 0.75);
  EXPECT_EQ(typical_workload({{1000, 1, 500, "", 3}, {1, 0, 0, "", 9}}, {.cpu_only = false}).size(), 1U);
}

/// Compares the tables with the sums of R-STRAT-215, on random states and hypothetical placements.
TEST(Fragments, TablesGiveTheScoreOfTheExactSums) {
  std::mt19937_64 random(7);
  const auto below = [&](std::uint64_t n) { return static_cast<std::int32_t>(random() % n); };
  for (int round = 0; round < 40; ++round) {
    std::vector<ShapeCount> shapes;
    const char* const specs[] = {"", "", "T4", "G2|P100"};
    for (int i = 0; i < 20; ++i) {
      const int kind = below(4);
      const std::int32_t gpus = kind == 0 ? 0 : kind == 3 ? 2 << below(2) : 1;
      shapes.push_back({1000 * below(20), gpus,
                        kind == 0   ? 0
                        : kind == 1 ? 10 * (1 + below(99))
                                    : 1000,
                        kind == 0 ? "" : specs[below(4)], static_cast<std::uint64_t>(1 + below(50))});
    }
    const FragmentTables tables(typical_workload(shapes), {"T4", "G2", "P100"});
    for (int trial = 0; trial < 200; ++trial) {
      std::vector<std::int16_t> devices;
      for (int i = below(9); i > 0; --i)
        devices.push_back(below(2) ? std::int16_t{1000} : static_cast<std::int16_t>(10 * below(101)));
      const auto model = static_cast<std::uint16_t>(below(3));
      const std::int32_t cpu = 1000 * below(40), asked = below(cpu + 1);
      for (std::size_t i = 0; i < devices.size(); ++i) {
        if (devices[i] < 100) continue;
        std::vector<std::int16_t> after = devices;
        after[i] = static_cast<std::int16_t>(after[i] - 100);
        const double gain = tables.exact(model, cpu, devices) - tables.exact(model, cpu - asked, after);
        EXPECT_EQ(tables.score(model, cpu, asked, devices, DeviceMask{1} << i, 100),
                  static_cast<std::int32_t>(100 * (1 / (1 + std::exp(-gain / 1000)))));
      }
      const double gain = tables.exact(model, cpu, devices) - tables.exact(model, cpu - asked, devices);
      EXPECT_EQ(tables.score(model, cpu, asked, devices, 0, 0),
                static_cast<std::int32_t>(100 * (1 / (1 + std::exp(-gain / 1000)))));
    }
  }
}

}  // namespace
}  // namespace berth::strategy
