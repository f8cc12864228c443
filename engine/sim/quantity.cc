#include "sim/quantity.h"

#include <algorithm>
#include <cmath>

#include "base/assert.h"

namespace berth::sim {

Quantity Quantity::uniform(std::int64_t min, std::int64_t max) {
  BERTH_ASSERT(min <= max);
  Quantity out;
  if (min == max) return min;
  out.kind_ = Kind::uniform;
  out.values_ = {min, max};
  return out;
}

Quantity Quantity::choices(std::vector<std::int64_t> values, const std::vector<double>& weights) {
  BERTH_ASSERT(!values.empty() && values.size() == weights.size());
  Quantity out;
  out.kind_ = Kind::choices;
  double sum = 0;
  for (const double weight : weights) out.cumulative_.push_back(sum += weight);
  for (double& edge : out.cumulative_) edge /= sum;
  out.values_ = std::move(values);
  return out;
}

Quantity Quantity::quantiles(std::vector<double> cumulative, std::vector<std::int64_t> values) {
  BERTH_ASSERT(values.size() >= 2 && values.size() == cumulative.size());
  Quantity out;
  out.kind_ = Kind::quantiles;
  out.cumulative_ = std::move(cumulative);
  out.values_ = std::move(values);
  return out;
}

std::int64_t Quantity::draw(base::Random& random) const {
  switch (kind_) {
    case Kind::constant:
      break;
    case Kind::uniform: {
      // In unsigned arithmetic, so that the widest range does not overflow; a full 2^64 range is not expressible.
      const std::uint64_t width = static_cast<std::uint64_t>(values_[1]) - static_cast<std::uint64_t>(values_[0]) + 1;
      return static_cast<std::int64_t>(static_cast<std::uint64_t>(values_[0]) + random.below(width));
    }
    case Kind::choices: {
      const auto edge = std::upper_bound(cumulative_.begin(), cumulative_.end(), random.unit());
      return values_[std::min<std::size_t>(static_cast<std::size_t>(edge - cumulative_.begin()), values_.size() - 1)];
    }
    case Kind::quantiles: {
      const double u = random.unit();
      const auto edge = std::upper_bound(cumulative_.begin(), cumulative_.end(), u);
      if (edge == cumulative_.begin()) return values_.front();
      if (edge == cumulative_.end()) return values_.back();
      const auto i = static_cast<std::size_t>(edge - cumulative_.begin());
      const double part = (u - cumulative_[i - 1]) / (cumulative_[i] - cumulative_[i - 1]);
      const double span = static_cast<double>(values_[i]) - static_cast<double>(values_[i - 1]);
      return values_[i - 1] + static_cast<std::int64_t>(std::llround(part * span));
    }
  }
  return values_.front();
}

std::int64_t Quantity::min() const { return *std::min_element(values_.begin(), values_.end()); }
std::int64_t Quantity::max() const { return *std::max_element(values_.begin(), values_.end()); }

}  // namespace berth::sim
