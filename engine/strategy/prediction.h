// Predicted run times: the true ones, off by a factor e^(error z) with z normal, drawn per job from a seed. The same
// for queue policies and for packing strategies.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "base/random.h"
#include "berth/strategy.h"

namespace berth::strategy {

struct Prediction {
  double error = 0;
  std::uint64_t seed = 1;
  /// ns, of a job that runs `run_time_ns`.
  [[nodiscard]] double of(std::int64_t run_time_ns, std::uint64_t job) const {
    const auto run_time = static_cast<double>(run_time_ns);
    return error == 0 ? run_time : run_time * std::exp(error * normal(job));
  }
  /// The same in whole ns, below 2^63.
  [[nodiscard]] std::int64_t whole(std::int64_t run_time_ns, std::uint64_t job) const {
    constexpr double kMost = 9e18;
    return static_cast<std::int64_t>(std::min(of(run_time_ns, job), kMost));
  }
  /// A draw from the standard normal distribution for a job, the same whenever it is predicted (Box and Muller).
  [[nodiscard]] double normal(std::uint64_t job) const {
    base::Random random(base::mix64(seed) ^ job, "run time prediction");
    const double radius = std::sqrt(random.exponential(2));
    return radius * std::cos(2 * std::numbers::pi * random.unit());
  }
};

[[nodiscard]] inline ParameterInfo error_parameter() {
  return {.name = "error",
          .fallback = "0",
          .meaning = "standard deviation of the logarithm of predicted over true run time",
          .max = 10};
}

}  // namespace berth::strategy
