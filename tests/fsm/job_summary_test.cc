#include "fsm/job_summary.h"

#include <gtest/gtest.h>

#include <map>

#include "base/random.h"

namespace berth::fsm {
namespace {

TEST(GroupSummaries, BehaveLikeAMapByName) {
  base::Random random(7, "group-summaries");
  for (int round = 0; round < 50; ++round) {
    GroupSummaries groups;
    std::map<std::string, std::int64_t> slow;
    for (int step = 0; step < 40; ++step) {
      const std::string name = "group-" + std::to_string(random.below(12));
      const auto known = slow.find(name);
      const GroupSummary* found = groups.find(name);
      ASSERT_EQ(found != nullptr, known != slow.end());
      if (found != nullptr) {
        EXPECT_EQ(found->counts[static_cast<std::size_t>(Bin::running)], known->second);
      }
      if (random.below(2) == 0) {
        EXPECT_EQ(groups.add(name), known == slow.end());
        slow.try_emplace(name, 0);
      } else {
        groups[name][Bin::running] = step;
        slow[name] = step;
      }
    }
    ASSERT_EQ(groups.size(), slow.size());
    auto expected = slow.begin();
    for (const auto& [name, group] : groups) {
      EXPECT_EQ(name, expected->first);
      EXPECT_EQ(group.counts[static_cast<std::size_t>(Bin::running)], expected->second);
      ++expected;
    }
  }
}

}  // namespace
}  // namespace berth::fsm
