// Statistics compared with published values (documentation of R and SciPy), and cases that can be counted by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "stats/change_points.h"
#include "stats/noise.h"
#include "stats/rank_test.h"
#include "stats/summary.h"

namespace berth::stats {
namespace {

using Values = std::vector<double>;

// David and Nagaraja, Order Statistics, 7.1: P(X(k) <= median <= X(n + 1 - k)) = 1 - 2 P(B < k), B of n coins.
TEST(Summary, MedianIntervalsAreThePublishedOnes) {
  const auto of = [](int n) {
    Values values;
    for (int i = n; i > 0; --i) values.push_back(i);
    return median_interval(values);
  };
  struct Row {
    int n;
    double low, high, coverage;
  };
  for (const Row& row :
       {Row{0, 0, 0, 0}, Row{1, 1, 1, 0}, Row{2, 1, 2, 0.5}, Row{5, 1, 5, 0.9375}, Row{6, 1, 6, 0.96875},
        Row{8, 1, 8, 0.9921875}, Row{9, 2, 8, 0.9609375}, Row{10, 2, 9, 0.978515625}}) {
    const MedianInterval got = of(row.n);
    EXPECT_EQ(got.low, row.low) << row.n;
    EXPECT_EQ(got.high, row.high) << row.n;
    EXPECT_NEAR(got.coverage, row.coverage, 1e-12) << row.n;
  }
  EXPECT_GE(of(2'000).coverage, 0.95);
  EXPECT_LT(of(2'000).high - of(2'000).low, 100);
}

TEST(Summary, OrderStatisticsAreExact) {
  EXPECT_EQ(median(Values{}), 0);
  EXPECT_EQ(median(Values{3}), 3);
  EXPECT_EQ(median(Values{4, 1, 3}), 3);
  EXPECT_EQ(median(Values{4, 1, 3, 2}), 2.5);
  EXPECT_EQ(minimum(Values{4, 1, 3}), 1);
  // R: quantile(c(1, 2, 4, 8), c(0.25, 0.9)) is 1.75 and 6.8.
  EXPECT_DOUBLE_EQ(quantile(Values{8, 1, 2, 4}, 0.25), 1.75);
  EXPECT_DOUBLE_EQ(quantile(Values{8, 1, 2, 4}, 0.9), 6.8);
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  EXPECT_EQ(quantile(Values{0, kInfinite, kInfinite, kInfinite}, 0.9), kInfinite);
  EXPECT_DOUBLE_EQ(relative_difference(110, 100), 0.1);
  EXPECT_DOUBLE_EQ(relative_difference(-90, -100), 0.1);
  EXPECT_EQ(relative_difference(0, 0), 0);
  EXPECT_TRUE(std::isinf(relative_difference(1, 0)));
}

struct RankCase {
  const char* name;
  Values a, b;
  double u, p_greater, p_two_sided;  // p_greater NaN: not published
  bool exact;
  double tolerance;
};
class RankTestTable : public ::testing::TestWithParam<RankCase> {};

TEST_P(RankTestTable, AgreesWithPublishedTables) {
  const RankCase& c = GetParam();
  const RankTest got = c.exact ? rank_test_exact(c.a, c.b) : rank_test_normal(c.a, c.b);
  EXPECT_EQ(got.u, c.u);
  if (!std::isnan(c.p_greater)) {
    EXPECT_NEAR(got.p_greater, c.p_greater, c.tolerance);
  }
  EXPECT_NEAR(got.p_two_sided, c.p_two_sided, c.tolerance);
  const RankTest turned = c.exact ? rank_test_exact(c.b, c.a) : rank_test_normal(c.b, c.a);
  EXPECT_DOUBLE_EQ(turned.u, static_cast<double>(c.a.size() * c.b.size()) - c.u);
  EXPECT_NEAR(turned.p_less, got.p_greater, 1e-12);
  EXPECT_NEAR(turned.p_two_sided, got.p_two_sided, 1e-12);
}

const double kUnpublished = std::nan("");
INSTANTIATE_TEST_SUITE_P(
    Published, RankTestTable,
    ::testing::Values(
        // R, ?wilcox.test: permeability constants (Hollander and Wolfe 1973), alternative "greater": W = 35, p =
        // 0.1272.
        RankCase{"permeability",
                 {1.15, 0.88, 0.90, 0.74, 1.21},
                 {0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46},
                 35,
                 0.1272,
                 0.2544,
                 true,
                 5e-5},
        // scipy.stats.mannwhitneyu: U1 = 17, exact p = 1/9; with the normal distribution p = 0.11134688653314041.
        RankCase{"diagnosis", {20, 11, 17, 12}, {19, 22, 16, 29, 24}, 17, kUnpublished, 1.0 / 9, true, 1e-12},
        RankCase{"diagnosis_normal",
                 {20, 11, 17, 12},
                 {19, 22, 16, 29, 24},
                 17,
                 kUnpublished,
                 0.11134688653314041,
                 false,
                 1e-12},
        // R, ?wilcox.test: airquality, ozone in May and August, with ties: W = 127.5, p = 0.0001208.
        RankCase{
            "ozone",
            {39, 9, 16, 78, 35, 66, 122, 89, 110, 44, 28, 65, 22, 59, 23, 31, 44, 21, 9, 45, 168, 73, 76, 118, 84, 85},
            {41, 36, 12, 18, 28, 23, 19, 8, 7, 16, 11, 14, 18, 14, 34, 6, 30, 11, 1, 11, 4, 32, 23, 45, 115, 37},
            127.5,
            kUnpublished,
            0.0001208,
            false,
            5e-8},
        // By hand: the 20 ways to choose 3 of 6; only the one observed is as large.
        RankCase{"apart", {1, 2, 3}, {4, 5, 6}, 9, 1.0 / 20, 2.0 / 20, true, 1e-15},
        // By hand: mid-ranks of 1, 2, 2, 3 are 1, 2.5, 2.5, 4; sums of two of them: 3.5, 3.5, 5, 5, 6.5, 6.5.
        RankCase{"tied", {1, 2}, {2, 3}, 3.5, 2.0 / 6, 4.0 / 6, true, 1e-15},
        RankCase{"all_the_same", {5, 5, 5}, {5, 5, 5}, 4.5, 1, 1, true, 1e-15},
        RankCase{"one_each", {1}, {2}, 1, 0.5, 1, true, 1e-15}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(RankTest, ExactAndNormalResultsAgree) {
  // The exact test and the approximation agree where the exact test stops; both have the right size: 5 % of A/A pairs
  // below p = 0.05.
  std::mt19937_64 random(7);
  const auto sample = [&](std::size_t n) {
    Values out(n);
    for (double& value : out) value = static_cast<double>(random() % 40);
    return out;
  };
  int below = 0;
  constexpr int kPairs = 400;
  for (int i = 0; i < kPairs; ++i) {
    const Values a = sample(20), b = sample(20);
    const RankTest exact = rank_test_exact(a, b), normal = rank_test_normal(a, b);
    EXPECT_NEAR(exact.p_greater, normal.p_greater, 0.01);
    below += exact.p_greater <= 0.05;
    EXPECT_TRUE(rank_test(a, b).exact);
  }
  EXPECT_GT(below, kPairs * 2 / 100);
  EXPECT_LT(below, kPairs * 8 / 100);
  EXPECT_FALSE(rank_test(sample(40), sample(40)).exact);
  EXPECT_EQ(rank_test(Values{}, Values{1}).p_greater, 1);
  EXPECT_EQ(rank_test_normal(Values(30, 5.0), Values(30, 5.0)).p_two_sided, 1);
}

TEST(RankTest, SmallestPIsExact) {
  EXPECT_DOUBLE_EQ(smallest_p(1), 0.5);
  EXPECT_DOUBLE_EQ(smallest_p(5), 1.0 / 252);
  EXPECT_NEAR(smallest_p(10), 1.0 / 184756, 1e-18);
  EXPECT_DOUBLE_EQ(smallest_p(3), rank_test(Values{1, 2, 3}, Values{4, 5, 6}).p_greater);
}

TEST(Holm, FollowsTheProcedure) {
  // 0.01 0.04 0.03 0.005: times 3, 1, 2, 4 by rank, then not below the one before.
  const std::vector<double> got = holm(Values{0.01, 0.04, 0.03, 0.005});
  const Values want = {0.03, 0.06, 0.06, 0.02};
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_DOUBLE_EQ(got[i], want[i]);
  EXPECT_EQ(holm(Values{0.7, 0.8}), (Values{1, 1}));
  EXPECT_TRUE(holm(Values{}).empty());
}

TEST(NoiseModel, CoversAaComparisons) {
  // 95 % of comparisons of two fresh sets stay below the noise estimated from a third set of the same program. A set of
  // 10 values estimates its spread only roughly, so the share over many sets is slightly below 95 %.
  std::mt19937_64 random(11);
  const auto set_of = [&](std::size_t n) {
    Values out(n);
    for (double& value : out) {
      double sum = 0;  // of 12 uniform numbers: close to normal with variance 1
      for (int i = 0; i < 12; ++i) sum += static_cast<double>(random() >> 11) * 0x1p-53;
      value = 1000 * (1 + 0.02 * (sum - 6));
    }
    return out;
  };
  int inside = 0;
  constexpr int kTrials = 400;
  for (int i = 0; i < kTrials; ++i) {
    const double noise = aa_noise(set_of(10), 10, static_cast<std::uint64_t>(i), 200);
    const double difference = std::abs(relative_difference(median(set_of(10)), median(set_of(10))));
    inside += difference <= noise;
  }
  EXPECT_GT(inside, kTrials * 84 / 100);
  const Values wide = set_of(40);
  EXPECT_LT(aa_noise(wide, 40, 1), aa_noise(wide, 10, 1) * 0.75);
  EXPECT_EQ(aa_noise(wide, 10, 1), aa_noise(wide, 10, 1));
  EXPECT_EQ(aa_noise(Values{5, 5, 5}, 3, 1), 0);
  EXPECT_TRUE(std::isinf(aa_noise(Values{1, 2}, 2, 1)));
}

Values steps(std::mt19937_64& random, std::initializer_list<double> levels, std::size_t length) {
  Values out;
  for (const double level : levels)
    for (std::size_t i = 0; i < length; ++i)
      out.push_back(level * (1 + 0.02 * (static_cast<double>(random() >> 11) * 0x1p-53 - 0.5)));
  return out;
}

TEST(ChangePoints, AreFoundAtStepsOnly) {
  std::mt19937_64 random(3);
  const Values two_steps = steps(random, {100, 110, 95}, 12);
  const std::vector<ChangePoint> found = change_points(two_steps);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].index, 12U);
  EXPECT_EQ(found[1].index, 24U);
  EXPECT_NEAR(found[0].before, 100, 1);
  EXPECT_NEAR(found[0].after, 110, 1);
  EXPECT_NEAR(found[1].after, 95, 1);
  EXPECT_LE(found[0].p, 0.01);
  int false_ones = 0;
  for (int i = 0; i < 100; ++i) false_ones += !change_points(steps(random, {100}, 30)).empty();
  EXPECT_LE(false_ones, 3);
  // A step below the limit, and series too short for one.
  EXPECT_TRUE(change_points(steps(random, {100, 101.5}, 20)).empty());
  EXPECT_TRUE(change_points(Values{1, 1, 1, 9, 9, 9}).empty());
  EXPECT_TRUE(change_points(Values(50, 7.0)).empty());
  EXPECT_TRUE(change_points(Values{}).empty());
  EXPECT_TRUE(change_points(Values{1}).empty());
}

}  // namespace
}  // namespace berth::stats
