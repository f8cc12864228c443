#include "tables/priority_counts.h"

#include <gtest/gtest.h>

#include <map>

#include "base/random.h"

namespace berth::tables {
namespace {

TEST(PriorityCounts, AgreeWithAMap) {
  base::Random random(11, "priority-counts");
  std::uint64_t unlisted = 0, found = 0;
  for (int round = 0; round < 200; ++round) {
    const std::uint64_t kinds = 1 + random.below(7);
    PriorityCounts counts;
    std::map<std::int32_t, std::uint32_t> slow;
    for (int step = 0; step < 200; ++step) {
      const auto kind = static_cast<std::int32_t>(random.below(kinds));
      const std::int32_t priority = kind == 3 ? kNoPriority : kind * 10 - 20;
      if (const auto known = slow.find(priority); known != slow.end() && random.below(2) == 0) {
        counts.remove(priority);
        if (--known->second == 0) slow.erase(known);
      } else {
        counts.add(priority);
        ++slow[priority];
      }
      if (slow.size() > 5) {
        EXPECT_FALSE(counts.listed());
      }
      if (!counts.listed()) {  // recounted, like a full walk
        ++unlisted;
        counts = {};
        for (const auto& [of, number] : slow)
          for (std::uint32_t i = 0; i < number; ++i) counts.add(of);
        if (!counts.listed()) continue;
      }
      ++found;
      const bool any = !slow.empty() && slow.begin()->first != kNoPriority;
      EXPECT_EQ(counts.least().priority, any ? slow.begin()->first : kNoPriority);
      EXPECT_EQ(counts.least().allocs, any ? slow.begin()->second : 0U);
      EXPECT_EQ(counts.most(), slow.empty() ? -kNoPriority : slow.rbegin()->first);
    }
  }
  EXPECT_GT(unlisted, 100U);
  EXPECT_GT(found, 10'000U);
}

TEST(PriorityCounts, AreUnknownBeyondTheNumberOfPriorities) {
  PriorityCounts counts;
  for (int i = 0; i < 0xFFFF; ++i) counts.add(50);
  EXPECT_TRUE(counts.listed());
  EXPECT_EQ(counts.least().allocs, 0xFFFFU);
  counts.add(50);
  EXPECT_FALSE(counts.listed());
}

}  // namespace
}  // namespace berth::tables
