#include "rank/window.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <random>
#include <vector>

#include "on_every_target.h"
#include "rank/components.h"

namespace berth::rank {
namespace {

/// Compared with the mean of a score row (R-RANK-901), with and without spreads, for windows of every length.
TEST(ScoreWindow, HasTheScoresOfRowsAndMarksCandidates) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> uniform(-0.5, 1);
  std::vector<double> prefix(kWindowMost + 3), appended(prefix.size()), totals(prefix.size()), values(prefix.size());
  std::vector<std::uint32_t> code(prefix.size());
  std::vector<double> spread(9);
  std::size_t decisive = 0, counted = 0, exhausted = 0;
  for (std::size_t length = 0; length <= kWindowMost; ++length) {
    for (double& total : spread) total = uniform(random);
    spread[3] = 0.0, spread[4] = -0.0;
    for (std::size_t i = 0; i < prefix.size(); ++i) {
      appended[i] = static_cast<double>(random() % 5 == 0 ? 0 : 1 + random() % 2);
      prefix[i] = appended[i] == 0 ? 0.0 : uniform(random);
      if (random() % 30 == 0) prefix[i] = std::numeric_limits<double>::quiet_NaN();  // R-RANK-104
      code[i] = static_cast<std::uint32_t>(random() % spread.size());
    }
    for (const double threshold : {-std::numeric_limits<double>::infinity(), 0.3, 0.7})
      for (const bool spreads : {false, true})
        on_every_target([&] {
          const WindowColumns columns{prefix.data(), appended.data(), spreads ? code.data() : nullptr, spread.data(),
                                      spreads ? totals.data() : nullptr};
          const std::size_t first = 3;
          const WindowScores scores = score_window(columns, first, first + length, threshold, values.data());
          std::uint64_t without_room[WindowScores::kWords] = {};
          for (std::size_t i = first; i < first + length; ++i) {
            const std::size_t word = (i - first) / 64, bit = (i - first) % 64;
            const bool marked = scores.decisive[word] >> bit & 1;
            if (appended[i] == 0) {
              EXPECT_FALSE(marked);
              without_room[word] |= std::uint64_t{1} << bit;
              ++exhausted;
              continue;
            }
            const double total = spreads ? spread[code[i]] : 0.0;
            const double score = (prefix[i] + total) / (appended[i] + (total != 0.0 ? 1.0 : 0.0));
            EXPECT_EQ(bits_of(values[i]), bits_of(score));
            if (spreads) {
              EXPECT_EQ(bits_of(totals[i]), bits_of(total));
            }
            EXPECT_EQ(marked, !(score <= threshold && score > 0)) << score;
            ++(marked ? decisive : counted);
          }
          for (std::size_t word = 0; word < WindowScores::kWords; ++word) {
            EXPECT_EQ(scores.exhausted[word], without_room[word]);
            const std::size_t before = std::min<std::size_t>(length - std::min(length, 64 * word), 64);
            EXPECT_EQ(before < 64 ? scores.decisive[word] >> before : 0, 0U) << "bits behind the window";
          }
        });
  }
  EXPECT_GT(decisive, 100U);
  EXPECT_GT(counted, 100U);
  EXPECT_GT(exhausted, 100U);
}

}  // namespace
}  // namespace berth::rank
