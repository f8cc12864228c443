// ShuffleTrace finds the entries of a shuffle whose late steps, which are searched by vector, move one entry twice or
// more (R-FEAS-203). Random shuffles hardly have such steps next to each other.
#include "rank/trace.h"

#include <gtest/gtest.h>

#include <numeric>
#include <utility>

#include "on_every_target.h"

namespace berth::rank {
namespace {

constexpr std::size_t kSearchedFrom = 16'384;  // step

/// The picks of a shuffle in which step i picks place i, so that it moves nothing, until pick_at() changes it. The
/// number before the first pick is a place as well; reading it would be an error.
class Picks {
 public:
  explicit Picks(std::size_t n, std::uint32_t before) : picks_(n) {
    for (std::size_t step = 1; step < n; ++step) pick_at(step, static_cast<std::uint32_t>(step));
    picks_[0] = before;
  }
  void pick_at(std::size_t step, std::uint32_t place) { picks_[picks_.size() - step] = place; }
  [[nodiscard]] std::span<const std::uint32_t> all() const { return std::span(picks_).subspan(1); }
  /// The whole shuffle, step by step.
  [[nodiscard]] std::vector<std::uint32_t> shuffled() const {
    std::vector<std::uint32_t> out(picks_.size());
    std::iota(out.begin(), out.end(), 0U);
    for (std::size_t step = out.size() - 1; step > 0; --step) std::swap(out[step], out[picks_[picks_.size() - step]]);
    return out;
  }

 private:
  std::vector<std::uint32_t> picks_;
};

TEST(ShuffleTrace, FollowsEntriesThatMoveAgainInTheSameBlock) {
  constexpr std::size_t kSteps = 37;  // two blocks of the widest vectors, and a rest
  on_every_target([] {
    ShuffleTrace trace;
    for (std::size_t first = 0; first < kSteps; ++first)
      for (std::size_t second = first + 1; second < kSteps; ++second) {
        Picks picks(kSearchedFrom + kSteps, 3);
        picks.pick_at(kSearchedFrom + first, 5);
        picks.pick_at(kSearchedFrom + second, static_cast<std::uint32_t>(kSearchedFrom + first));
        const auto wanted = picks.shuffled();
        ASSERT_EQ(wanted[5], kSearchedFrom + second);
        std::array<std::uint32_t, 10> entries{};
        trace.begin(picks.all());
        trace.find(0, entries);
        for (std::size_t k = 0; k < entries.size(); ++k)
          ASSERT_EQ(entries[k], wanted[k]) << "entry " << k << ", steps " << first << " and " << second;
      }
  });
}

TEST(ShuffleTrace, FollowsAnEntryThatEachStepMoves) {  // more places than the filters of a block hold
  constexpr std::size_t kSteps = 100;
  on_every_target([] {
    ShuffleTrace trace;
    Picks picks(kSearchedFrom + kSteps, 0);
    picks.pick_at(kSearchedFrom, 7);
    for (std::size_t i = 1; i < kSteps; ++i)
      picks.pick_at(kSearchedFrom + i, static_cast<std::uint32_t>(kSearchedFrom + i - 1));
    std::array<std::uint32_t, 8> entries{};
    trace.begin(picks.all());
    trace.find(0, entries);
    EXPECT_EQ(entries, (std::array<std::uint32_t, 8>{0, 1, 2, 3, 4, 5, 6, kSearchedFrom + kSteps - 1}));
  });
}

}  // namespace
}  // namespace berth::rank
