// The best of n scores that change one at a time: a max-tree of fan-out 8.
//
//   level 0   the scores, 8 B each, padded with -infinity to whole blocks of 8: one cache line a block
//   level k   the largest score of each block of level k - 1, down to one block
// A change costs one block per level (5 levels at 10,000 scores, 7 at 1,000,000) and stops early at a level whose
// maximum stays. Finding the first of the highest costs one block per level. For identical requests: a placement
// changes the score of one node, so the best node is found without visiting the others again. Scores are finite, or
// -infinity for "absent". Not shared between threads. Memory grows to the largest n and is not released.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "rank/top_scores.h"

namespace berth::rank {

class BestIndex {
 public:
  static constexpr double kAbsent = -std::numeric_limits<double>::infinity();

  /// Replaces all scores; O(n).
  void build(std::span<const double> scores);
  void set(std::uint32_t i, double score) noexcept;
  [[nodiscard]] double operator[](std::uint32_t i) const noexcept { return levels_[0][i]; }
  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }

  /// The highest score and the first position that has it; size() and kAbsent if all are absent.
  struct Best {
    std::uint32_t i;
    double score;
  };
  [[nodiscard]] Best best() const noexcept;
  /// The first i >= `from` with a score above `floor`; size() if there is none. O(log n).
  [[nodiscard]] std::uint32_t next_above(std::uint32_t from, double floor) const noexcept;

  /// The TopScores after pushing all present scores in order. Keeps the state after each effective push of the last
  /// call, so that a change at i repeats only the effective pushes from i on: a handful.
  [[nodiscard]] const TopScores& top() noexcept;

 private:
  static constexpr std::uint32_t kFan = 8;
  struct Pushed {
    std::uint32_t i;
    TopScores after;
  };

  std::vector<std::vector<double>> levels_;  // [0] the scores
  std::size_t level_count_ = 0;
  std::uint32_t size_ = 0;
  std::vector<Pushed> pushed_;  // ascending i: the pushes that changed the list
  TopScores none_;
};

}  // namespace berth::rank
