#include "compare/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace berth::compare {
namespace {

TEST(Statistics, SummaryAgreesWithValuesComputedByHand) {
  // 2, 4, 4, 6: mean 4, squares 8, deviation sqrt(8 / 3); t(3) = 3.182446.
  const std::vector<double> values = {2, 4, 4, 6};
  const Summary s = summarise(values);
  EXPECT_EQ(s.mean, 4);
  EXPECT_NEAR(s.deviation, std::sqrt(8.0 / 3), 1e-12);
  EXPECT_NEAR(s.high - s.mean, 3.182446 * std::sqrt(8.0 / 3) / 2, 1e-5);
  EXPECT_NEAR(s.low + s.high, 8, 1e-12);
  EXPECT_EQ(summarise(std::vector<double>{}).count, 0U);
  EXPECT_EQ(summarise(std::vector<double>{7}).low, 7);
}

TEST(Statistics, PairedTestAgreesWithValuesComputedByHand) {
  // Differences 1 to 5: mean 3, deviation sqrt(2.5), t = 3 / sqrt(0.5) = 4.24264, p(4) = 0.013236.
  const std::vector<double> a = {11, 12, 13, 14, 15}, b(5, 10);
  const PairedTest test = paired_test(a, b);
  EXPECT_NEAR(test.p, 0.013236, 1e-5);
  EXPECT_NEAR(test.effect, 3 / std::sqrt(2.5), 1e-12);
  EXPECT_EQ(test.p_ranks, 0.0625);
  EXPECT_TRUE(test.shown);
  EXPECT_FALSE(paired_test(b, b).shown);
  EXPECT_EQ(paired_test(b, b).p, 1);
  const PairedTest alike = paired_test(b, std::vector<double>(5, 9));  // all differences equal
  EXPECT_EQ(alike.p, 0.0625);
  EXPECT_FALSE(alike.shown);
  EXPECT_TRUE(paired_test(std::vector<double>(6, 2), std::vector<double>(6, 1)).shown);
  EXPECT_TRUE(std::isinf(alike.effect));
}

/// All 2^n signs, counted.
double wilcoxon_oracle(const std::vector<double>& differences) {
  std::vector<double> d;
  for (const double x : differences)
    if (x != 0) d.push_back(x);
  const std::size_t n = d.size();
  if (n == 0) return 1;
  std::vector<double> rank(n);
  for (std::size_t i = 0; i < n; ++i) {
    double less = 0, equal = 0;
    for (const double other : d) less += std::abs(other) < std::abs(d[i]), equal += std::abs(other) == std::abs(d[i]);
    rank[i] = less + (equal + 1) / 2;
  }
  const auto least_of = [&](auto positive) {
    double plus = 0, minus = 0;
    for (std::size_t i = 0; i < n; ++i) (positive(i) ? plus : minus) += rank[i];
    return std::min(plus, minus);
  };
  const double seen = least_of([&](std::size_t i) { return d[i] > 0; });
  std::size_t extreme = 0;
  for (std::size_t signs = 0; signs < std::size_t{1} << n; ++signs)
    extreme += least_of([&](std::size_t i) { return (signs >> i & 1) != 0; }) <= seen;
  return static_cast<double>(extreme) / static_cast<double>(std::size_t{1} << n);
}

TEST(Statistics, SignedRankTestAgreesWithAnEnumerationOfAllSigns) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 60; ++round) {
    std::vector<double> d(random() % 11);
    for (double& x : d) x = static_cast<double>(random() % 13) - 5;  // ties and zeros among them
    EXPECT_NEAR(wilcoxon_p(d), wilcoxon_oracle(d), 1e-12) << "round " << round;
  }
  EXPECT_EQ(wilcoxon_p(std::vector<double>(6, 1.5)), 0.03125);
  // The approximation beyond 50 differences continues the exact values.
  std::vector<double> many;
  for (int i = 1; i <= 50; ++i) many.push_back(i % 3 == 0 ? -i : i);
  const double exact = wilcoxon_p(many);
  many.push_back(0.5);
  EXPECT_NEAR(wilcoxon_p(many), exact, 0.01);
}

TEST(Statistics,
     HolmAgreesWithValuesComputedByHand) {  // 0.01 x 3, 0.03 x 2, and 0.04 may not fall below its predecessor
  std::vector<PairedTest> tests(3);
  tests[0].p = 0.04, tests[1].p = 0.01, tests[2].p = 0.03;
  adjust_for_many(tests);
  EXPECT_NEAR(tests[1].p_adjusted, 0.03, 1e-15);
  EXPECT_NEAR(tests[2].p_adjusted, 0.06, 1e-15);
  EXPECT_NEAR(tests[0].p_adjusted, 0.06, 1e-15);
  EXPECT_TRUE(tests[1].shown);
  EXPECT_FALSE(tests[0].shown || tests[2].shown);
}

TEST(Statistics, ParetoFrontListsUndominatedPoints) {
  EXPECT_EQ(pareto_front({{1, 5}, {2, 4}, {1, 4}, {2, 4}, {0, 6}}), (std::vector<bool>{true, true, false, true, true}));
  EXPECT_TRUE(pareto_front({}).empty());
}

}  // namespace
}  // namespace berth::compare
