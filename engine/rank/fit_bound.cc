#include "rank/fit_bound.h"

#include <cmath>

namespace berth::rank {

FitBound::FitBound() {
  for (std::size_t i = 0; i < power_.size(); ++i)
    power_[i] = std::pow(10.0, static_cast<double>(i) / static_cast<double>(kSteps) - 1.0);
}

}  // namespace berth::rank
