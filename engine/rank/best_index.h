// The best of n scores while they change one by one: a max-tree of fan-out 8.
//
//   level 0   the scores, 8 B each, padded with -infinity to whole blocks of 8: one cache line a block
//   level k   per block of level k - 1 its largest score, down to one block
// A change costs one block per level (5 levels at 10,000 scores, 7 at 1,000,000) and ends early where a maximum stays;
// the first of the highest costs one block per level. For identical asks: a placement changes the score of one node, so
// the best node of all needs no second look at the others. Scores are finite, or -infinity for "not there". Not shared
// between threads; memory grows to the largest n and stays.
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

  /// Takes over all scores; O(n).
  void build(std::span<const double> scores);
  void set(std::uint32_t i, double score) noexcept;
  [[nodiscard]] double operator[](std::uint32_t i) const noexcept { return levels_[0][i]; }
  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }

  /// The highest score and the first that has it; size() and kAbsent when none is there.
  struct Best {
    std::uint32_t i;
    double score;
  };
  [[nodiscard]] Best best() const noexcept;
  /// The first i >= `from` with a score above `floor`; size() when there is none. O(log n).
  [[nodiscard]] std::uint32_t next_above(std::uint32_t from, double floor) const noexcept;

  /// What TopScores holds after all scores that are there were pushed in order. Keeps what each push of the last call
  /// left behind, so that a change at i costs only the pushes from i on that matter: a handful.
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
