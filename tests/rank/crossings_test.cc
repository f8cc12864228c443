#include "rank/crossings.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <random>
#include <vector>

#include "on_every_target.h"

namespace berth::rank {
namespace {

using Left = std::array<std::int32_t, 3>;  // cpu, memory, disk

/// The first insufficient amount (R-RANK-533); 3: none.
std::size_t first_short(const Left& left, const Left& ask) {
  for (std::size_t figure = 0; figure < 3; ++figure)
    if (left[figure] < ask[figure]) return figure;
  return 3;
}

/// Compared with the first insufficient amount before and after: a change of it crosses. No other change crosses,
/// unless amounts are unknown. Ranges do not record which end was before, so a change that raises one amount and lowers
/// another may cross as well.
TEST(Crossings, AreTheChangesOfTheFirstInsufficientAmount) {
  constexpr std::int32_t kLeast = std::numeric_limits<std::int32_t>::min();
  constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();
  std::mt19937_64 random(7);
  std::size_t changed = 0, alike = 0, too_many = 0;
  for (int round = 0; round < 2000; ++round) {
    const std::size_t n = random() % 80;
    const auto draw = [&] { return static_cast<std::int32_t>(random() % 6); };
    const Left ask{draw(), draw(), draw()};
    std::array<std::vector<std::int32_t>, 3> least, most;
    std::vector<bool> must(n), may(n);
    for (std::size_t i = 0; i < n; ++i) {
      Left before{draw(), draw(), draw()}, after = before;
      const std::size_t kind = random() % 4;
      for (std::size_t figure = 0; figure < 3; ++figure)
        if (kind == 0 || (kind == 1 && figure == random() % 3)) after[figure] = draw();
      const bool told = kind != 3;
      bool both_ways = false;
      for (std::size_t figure = 0; figure < 3; ++figure) {
        least[figure].push_back(told ? std::min(before[figure], after[figure]) : kLeast);
        most[figure].push_back(told ? std::max(before[figure], after[figure]) : kMost);
        both_ways = both_ways || (before[figure] < after[figure]) != (before[0] < after[0]);
      }
      must[i] = !told || first_short(before, ask) != first_short(after, ask);
      may[i] = must[i] || both_ways;
    }
    std::vector<std::uint32_t> out(n);
    on_every_target([&] {
      const LeftRanges ranges{least[0].data(), most[0].data(),  least[1].data(),
                              most[1].data(),  least[2].data(), most[2].data()};
      const std::size_t count = crossings(ranges, n, {ask[0], ask[1], ask[2]}, out.data());
      std::vector<bool> crosses(n);
      for (std::size_t k = 0; k < count; ++k) {
        ASSERT_LT(out[k], n);
        ASSERT_TRUE(k == 0 || out[k - 1] < out[k]);
        crosses[out[k]] = true;
      }
      for (std::size_t i = 0; i < n; ++i) {
        EXPECT_TRUE(crosses[i] || !must[i]);
        EXPECT_TRUE(may[i] || !crosses[i]);
        changed += must[i], alike += !crosses[i], too_many += crosses[i] && !must[i];
      }
    });
  }
  EXPECT_GT(changed, 1000U);
  EXPECT_GT(alike, 1000U);
  EXPECT_LT(too_many, changed);
}

}  // namespace
}  // namespace berth::rank
