// The Mann-Whitney U test (Wilcoxon's rank sum): are values of one sample larger than those of another? It assumes no
// distribution, as run times follow no standard one. Also Holm's correction for many tests at once.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace berth::stats {

struct RankTest {
  double u = 0;            ///< pairs (a, b) with b > a; half a pair for b == a
  double p_greater = 1;    ///< probability of this u or a larger one if both samples come from one distribution
  double p_less = 1;       ///< the same for this u or a smaller one
  double p_two_sided = 1;  ///< twice the smaller of the two, at most 1
  bool exact = false;      ///< counted over all divisions of the values, including ties; else normal approximation
};

/// Up to this many values in both samples together the test is exact; beyond, the normal approximation is good enough.
inline constexpr std::size_t kExactRankTestValues = 50;

/// Tests whether `b` tends to be greater than `a`. Every p is 1 if a sample is empty.
///   exact    mid-ranks for ties; Streitberg and Roehmel's recursion, O((m + n)^3) steps
///   normal   with the variance corrected for ties and with a continuity correction of one half, as R's wilcox.test
[[nodiscard]] RankTest rank_test(std::span<const double> a, std::span<const double> b);
/// The same with a given method, for tests. The exact one is meant for samples of a few dozen values.
[[nodiscard]] RankTest rank_test_exact(std::span<const double> a, std::span<const double> b);
[[nodiscard]] RankTest rank_test_normal(std::span<const double> a, std::span<const double> b);

/// The smallest possible p of the exact one-sided test for two samples of `n` values: 1 / binomial(2n, n).
[[nodiscard]] double smallest_p(std::size_t n);

/// Holm's step-down correction (1979): adjusted p in the given order. A test is significant at `alpha` if its adjusted
/// p is at most alpha; then the probability of any false one among all tests is at most alpha.
[[nodiscard]] std::vector<double> holm(std::span<const double> p);

/// P(X > z) of the standard normal distribution.
[[nodiscard]] double normal_upper_tail(double z);

}  // namespace berth::stats
