// An upper bound of a node's fit score (score_fit.h), for a tenth of its cost: 10^free is looked up in a table.
//
// Used to skip nodes that cannot be the best, most of which then need no exact score. The table has a step per 1/512 of
// a node's capacity, so the bound exceeds the score by at most 0.5 % of the sum of both powers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "rank/score_fit.h"

namespace berth::rank {

class FitBound {
 public:
  FitBound();

  /// At least fit_component() of the same amounts; at most 1. `inverse` = 1 / capacity; any rounding of it is accepted.
  /// Meaningless for nodes whose score is NaN.
  [[nodiscard]] double component(FitAlgorithm algorithm, std::int64_t cpu_used, double cpu_inverse,
                                 std::int64_t memory_used, double memory_inverse) const noexcept {
    const double cpu = 1.0 - static_cast<double>(cpu_used) * cpu_inverse;
    const double memory = 1.0 - static_cast<double>(memory_used) * memory_inverse;
    const double score = algorithm == FitAlgorithm::binpack ? 20.0 - (at_least(cpu) + at_least(memory))
                                                            : at_most(cpu) + at_most(memory) - 2.0;
    const double component = score / 18.0 + kMargin;
    return component < 0 ? 0.0 : component < 1 ? component : 1.0;  // not a number: 1
  }

 private:
  static constexpr std::size_t kSteps = 512;          // per unit of the exponent, which goes from -1 to 1
  static constexpr double kMargin = 1.0 / (1 << 30);  // exceeds all rounding errors of the above

  /// Upper bound of 10^x.
  [[nodiscard]] double at_least(double x) const noexcept {
    if (!(x >= -1.0)) return 0.0;
    return power_[x < 1.0 ? static_cast<std::size_t>((x + 1.0) * kSteps) : 2 * kSteps];
  }
  [[nodiscard]] double at_most(double x) const noexcept {
    if (!(x < 1.0)) return 1e9;
    return power_[x < -1.0 ? 0 : static_cast<std::size_t>((x + 1.0) * kSteps) + 1];
  }

  std::array<double, 2 * kSteps + 1> power_;  // 10^(i / kSteps - 1)
};

}  // namespace berth::rank
