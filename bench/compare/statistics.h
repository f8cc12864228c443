// Statistics over seeds: spread of one strategy, paired difference of two. Students' t from Boost.Math.
//
// Every strategy sees the same seeds, so two are compared by the differences per seed: what the seeds have in common
// cancels out.
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

struct PairedTest {
  std::size_t pairs = 0;
  double difference = 0;     ///< mean of a - b
  double low = 0, high = 0;  ///< 95 % confidence interval of the difference
  double p = 1;              ///< two-sided paired t test; 1 for fewer than two pairs or no difference at all
  double effect = 0;         ///< Cohen's d of the differences: mean / deviation; +-inf when all differ alike
  bool shown = false;        ///< p < 0.05
};
/// Values of the same seeds in the same order; pairs with a NaN are left out.
[[nodiscard]] PairedTest paired_test(std::span<const double> a, std::span<const double> b);

/// "large", "medium", "small", "none": Cohen's conventions of 0.8, 0.5, 0.2.
[[nodiscard]] const char* effect_words(double effect);

/// Which points no other point beats in one quantity without being worse in another. `points` is rows x quantities,
/// greater is better.
[[nodiscard]] std::vector<bool> pareto_front(const std::vector<std::vector<double>>& points);

}  // namespace berth::compare
