// Finds where a series of measurements (one value per commit or night) changed its level.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace berth::stats {

struct ChangePoint {
  std::size_t index = 0;         ///< of the first value of the new level
  double before = 0, after = 0;  ///< medians of both sides up to the neighbouring change points
  double p = 1;                  ///< of the split that found it
};

struct ChangeOptions {
  double alpha = 0.01;           ///< a split counts if at most this share of shuffled series has one as clear
  double least_change = 0.02;    ///< relative; smaller steps of level are ignored
  std::size_t least_length = 4;  ///< minimum number of values of a level
  int shuffles = 499;            ///< of the permutation test
  std::uint64_t seed = 1;
};

/// Change points in ascending order. Binary segmentation: the split whose sides differ most by the rank statistic
/// |U - mn/2| / sigma is accepted if it is rarer than `alpha` among shuffles of the same values; then both sides are
/// searched. The same series and seed give the same answer.
[[nodiscard]] std::vector<ChangePoint> change_points(std::span<const double> series, const ChangeOptions& options = {});

}  // namespace berth::stats
