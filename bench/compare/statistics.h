// Statistics over seeds: spread of one strategy, paired difference of two. Student's t from Boost.Math.
//
// Every strategy uses the same seeds, so two are compared by their differences per seed, in which common effects cancel
// out. Tests: paired t (Student, Biometrika 6, 1908) and, without assuming normal differences, exact Wilcoxon signed
// ranks (Biometrics Bulletin 1, 1945). Of many comparisons one in twenty would be significant by chance, so the p of a
// table are adjusted (Holm, Scand. J. Statist. 6, 1979).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace berth::compare {

struct Summary {
  std::size_t count = 0;
  double mean = 0;
  double deviation = 0;      ///< sample standard deviation (n - 1); 0 for fewer than two values
  double low = 0, high = 0;  ///< 95 % confidence interval of the mean (t); the mean itself for fewer than two
};
[[nodiscard]] Summary summarise(std::span<const double> values);
[[nodiscard]] std::vector<double> without_nan(std::vector<double> values);

struct PairedTest {
  std::size_t pairs = 0;
  double difference = 0;     ///< mean of a - b
  double low = 0, high = 0;  ///< 95 % confidence interval of the difference
  double p = 1;              ///< two-sided paired t test; p_ranks if all differ equally; 1 for fewer than two pairs
  double effect = 0;         ///< Cohen's d of the differences: mean / deviation; +-inf if all differ equally
  double p_ranks = 1;        ///< two-sided Wilcoxon signed rank test, see wilcoxon_p
  double p_adjusted = 1;     ///< p after adjust_for_many; p itself before
  bool shown = false;        ///< p_adjusted < kSignificance
};
inline constexpr double kSignificance = 0.05;
/// Values of the same seeds in the same order; pairs with a NaN are ignored.
[[nodiscard]] PairedTest paired_test(std::span<const double> a, std::span<const double> b);

/// Two-sided p of Wilcoxon's signed rank test. Zero differences are ignored, equal sizes share the mean rank. Exact for
/// up to 50 differences (O(n^3) sums of ranks), else a normal approximation with correction for ties. 1 if no
/// difference is left. With fewer than six differences it cannot be below 0.05.
[[nodiscard]] double wilcoxon_p(std::span<const double> differences);

/// Holm's step-down adjustment over all tests of one table: keeps the chance of any false `shown` below kSignificance.
/// Sets p_adjusted and shown. Pairs without any difference count as tests too.
void adjust_for_many(std::span<PairedTest> tests);

/// "large", "medium", "small", "none": Cohen's conventions of 0.8, 0.5, 0.2.
[[nodiscard]] const char* effect_words(double effect);

/// Per point: true if it is on the Pareto front. `points` is rows x quantities, greater is better.
[[nodiscard]] std::vector<bool> pareto_front(const std::vector<std::vector<double>>& points);

}  // namespace berth::compare
