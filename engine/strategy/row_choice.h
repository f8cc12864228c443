// Choices of rows that several strategies make.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "berth/strategy.h"

namespace berth::strategy {

/// The row of the greatest score, among equals the first; none if all rows are excluded or have kNoScore. Cost: O(n).
[[nodiscard]] inline std::optional<Row> best_row(std::span<const double> scores, Exclusion without) {
  std::optional<Row> best;
  for (Row row = 0; row < scores.size(); ++row)
    if (scores[row] != kNoScore && !excluded(without, row) && (!best || scores[row] > scores[*best])) best = row;
  return best;
}

/// What `inner` chooses if only `row` is left, for the devices. `mask` is memory for reuse. Cost: O(n / 64), and that
/// of the inner strategy.
[[nodiscard]] inline std::optional<Choice> choose_on(Ranker& inner, const Fleet& fleet, ClassId id, Row row,
                                                     std::vector<std::uint64_t>& mask) {
  mask.assign((fleet.size() + 63) / 64, ~std::uint64_t{0});
  mask[row / 64] &= ~(std::uint64_t{1} << (row % 64));
  return inner.choose(fleet, id, mask);
}

}  // namespace berth::strategy
