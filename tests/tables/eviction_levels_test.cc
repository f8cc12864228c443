#include "tables/eviction_levels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "support/sanitized.h"

namespace berth::tables {
namespace {

struct Held {
  std::int32_t priority;
  Amounts held;
};

EvictionLevels levels_of(const std::vector<Held>& all) {
  EvictionLevels out;
  for (const Held& one : all) out.add(one.priority, one.held);
  return out;
}

Amounts sum(const Amounts& a, const Amounts& b) {
  return {a.cpu_mhz + b.cpu_mhz, a.memory_mb + b.memory_mb, a.disk_mb + b.disk_mb};
}
bool covers(const Amounts& room, const Amounts& ask) {
  return room.cpu_mhz >= ask.cpu_mhz && room.memory_mb >= ask.memory_mb && room.disk_mb >= ask.disk_mb;
}

/// The answers of the levels, computed from the allocations by trying every choice of victims.
void expect_agrees(const EvictionLevels& levels, const std::vector<Held>& all, const Amounts& free, const Amounts& ask,
                   std::int64_t highest) {
  std::int32_t least = kNoPriority, most = -kNoPriority;
  for (const Held& one : all) least = std::min(least, one.priority), most = std::max(most, one.priority);
  const EvictionBound bound = bound_eviction(levels, free, ask, highest, least, most);
  bool possible = false;
  for (std::size_t choice = 1; choice < std::size_t{1} << all.size(); ++choice) {
    Amounts room = free;
    std::int32_t worst = -kNoPriority;
    std::int64_t victims = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if ((choice >> i & 1) == 0) continue;
      room = sum(room, all[i].held);
      worst = std::max(worst, all[i].priority);
      ++victims;
    }
    if (worst > highest || !covers(room, ask)) continue;
    possible = true;
    if (bound.room == Room::none) break;
    ASSERT_GE(worst, bound.priority);
    ASSERT_GE(victims, bound.victims);
  }
  if (bound.room != Room::unsure) {
    ASSERT_EQ(possible, bound.room == Room::sure);
  }
  std::vector<std::int32_t> priorities;
  for (const Held& one : all) priorities.push_back(one.priority);
  std::sort(priorities.begin(), priorities.end());
  priorities.erase(std::unique(priorities.begin(), priorities.end()), priorities.end());
  if (priorities.size() < EvictionLevels::kLevels) {
    ASSERT_NE(bound.room, Room::unsure);
  }
}

/// Compares updated levels with new ones. The last level's priority and the largest amounts are only bounds.
void expect_kept(const EvictionLevels& kept, const EvictionLevels& fresh) {
  for (std::size_t i = 0; i < EvictionLevels::kLevels; ++i) {
    const EvictionLevels::Level &is = kept.levels[i], &should = fresh.levels[i];
    ASSERT_TRUE(is.cpu_mhz == should.cpu_mhz && is.memory_mb == should.memory_mb && is.disk_mb == should.disk_mb)
        << "level " << i;
    if (i + 1 < EvictionLevels::kLevels) {
      ASSERT_EQ(is.priority, should.priority) << "level " << i;
    } else {
      ASSERT_LE(is.priority, should.priority);
    }
  }
  ASSERT_GE(kept.largest_cpu_mhz, fresh.largest_cpu_mhz);
  ASSERT_GE(kept.largest_memory_mb, fresh.largest_memory_mb);
  ASSERT_GE(kept.largest_disk_mb, fresh.largest_disk_mb);
}

TEST(EvictionLevels, AgreeWithEveryChoiceOfVictims) {  // R-PREEMPT-203, 204, 403 to 407
  std::size_t none = 0, sure = 0, unsure = 0;
  for (std::uint64_t seed = 1; seed <= berth::testing::rounds(300, 50); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto pick = [&](std::int64_t least, std::int64_t most) {
      return least + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most - least + 1));
    };
    const std::int64_t priorities = pick(1, 12);
    std::vector<Held> all;
    EvictionLevels levels;
    for (int step = 0; step < 50; ++step) {
      if (all.empty() || (all.size() < 10 && pick(0, 9) < (step < 35 ? 7 : 3))) {
        const Held one{static_cast<std::int32_t>(10 * pick(1, priorities)), {pick(0, 3), pick(0, 3), pick(0, 3)}};
        all.push_back(one);
        levels.add(one.priority, one.held);
      } else {
        const auto gone = all.begin() + static_cast<std::ptrdiff_t>(random() % all.size());
        const Held one = *gone;
        all.erase(gone);
        if (!levels.remove(one.priority, one.held)) levels = levels_of(all);
      }
      expect_kept(levels, levels_of(all));
      const Amounts free{pick(-2, 3), pick(-2, 3), pick(-2, 3)}, ask{pick(0, 12), pick(0, 12), pick(0, 12)};
      const std::int64_t highest = 10 * pick(0, 12) + pick(0, 1);
      expect_agrees(levels, all, free, ask, highest);
      if (::testing::Test::HasFatalFailure()) return;
      const Room room = bound_eviction(levels, free, ask, highest, 10, 120).room;
      none += room == Room::none, sure += room == Room::sure, unsure += room == Room::unsure;
    }
  }
  EXPECT_GT(none, berth::testing::rounds(50, 5));
  EXPECT_GT(sure, berth::testing::rounds(50, 5));
  EXPECT_LT(unsure, sure);
}

TEST(EvictionLevels, AreUnknownForAmountsThatAreNegativeOrExceedAnInt32) {
  EvictionLevels levels;
  levels.add(20, {100, 100, 0});
  levels.add(10, {-5, 1, 1});
  EXPECT_EQ(bound_eviction(levels, {}, {50, 50, 0}, 60, 10, 20).room, Room::unsure);
  EXPECT_FALSE(levels.remove(10, {-5, 1, 1}));  // exact again after a rebuild
  for (const auto& [first, second] :
       {std::pair(std::int64_t{1} << 31, std::int64_t{0}), std::pair(std::int64_t{1} << 30, std::int64_t{1} << 30)}) {
    levels = {};
    levels.add(20, {first, 1, 1});
    levels.add(20, {second, 1, 1});
    EXPECT_EQ(bound_eviction(levels, {}, {50, 1, 0}, 60, 20, 20).room, Room::unsure) << first;
  }
}

TEST(EvictionLevels, MergePrioritiesAboveTheLastLevel) {
  EvictionLevels levels;
  for (std::int32_t priority = 90; priority > 0; priority -= 10) levels.add(priority, {priority, 1, 0});
  EXPECT_TRUE(levels.full());
  EXPECT_EQ(levels.levels.back().priority, 70);
  EXPECT_EQ(levels.levels.back().cpu_mhz, 70 + 80 + 90);
  // Evicting priorities up to 60 frees 210 MHz, up to 70 at least 280; of the last level only 70 may be evicted.
  EXPECT_EQ(bound_eviction(levels, {}, {210, 0, 0}, 75, 10, 90).room, Room::sure);
  EXPECT_EQ(bound_eviction(levels, {}, {210, 0, 0}, 75, 10, 90).priority, 60);
  EXPECT_EQ(bound_eviction(levels, {}, {211, 0, 0}, 75, 10, 90).room, Room::unsure);
  EXPECT_EQ(bound_eviction(levels, {}, {211, 0, 0}, 95, 10, 90).victims, 3);  // the largest holds 90
  EXPECT_EQ(bound_eviction(levels, {}, {451, 0, 0}, 95, 10, 90).room, Room::none);
}

}  // namespace
}  // namespace berth::tables
