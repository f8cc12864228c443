// A quantity of a workload: a constant, a uniform range, weighted choices, or a curve of quantiles.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"

namespace berth::sim {

/// Limit of amounts of cpu (MHz), memory and disk (MiB) in workloads and traces.
inline constexpr std::int64_t kMaxAmount = 1'000'000'000;

/// An integer drawn by inverting its cumulative distribution. Value semantics; drawing allocates nothing.
class Quantity {
 public:
  Quantity(std::int64_t constant = 0) : values_{constant} {}    // NOLINT(google-explicit-constructor)
  static Quantity uniform(std::int64_t min, std::int64_t max);  ///< both ends included; min <= max
  /// One of `values`, with the probability weight / sum of weights; equally long lists, weights >= 0, sum > 0.
  static Quantity choices(std::vector<std::int64_t> values, const std::vector<double>& weights);
  /// Linear between the points (cumulative[i], values[i]); cumulative rises from 0 to 1, values are
  /// non-decreasing.
  static Quantity quantiles(std::vector<double> cumulative, std::vector<std::int64_t> values);

  [[nodiscard]] std::int64_t draw(base::Random& random) const;
  /// True for a constant or a uniform range, whose values are all possible.
  [[nodiscard]] bool is_range() const { return kind_ == Kind::constant || kind_ == Kind::uniform; }
  [[nodiscard]] std::int64_t min() const;
  [[nodiscard]] std::int64_t max() const;

 private:
  enum class Kind : std::uint8_t { constant, uniform, choices, quantiles };
  Kind kind_ = Kind::constant;
  std::vector<double> cumulative_;
  std::vector<std::int64_t> values_;
};

}  // namespace berth::sim
