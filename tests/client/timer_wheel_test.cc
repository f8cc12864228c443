// The timer wheel compared with a sorted list of (time, order of setting).
#include <gtest/gtest.h>

#include <set>

#include "base/random.h"
#include "client/timer_wheel.h"

namespace berth::client {
namespace {

TEST(TimerWheel, EqualTimesFireInTheOrderOfSetting) {
  TimerWheel wheel;
  wheel.set(1'000'000, 0, 1);
  wheel.set(5, 0, 2);
  wheel.set(1'000'000, 0, 3);
  TimerWheel::Fired fired;
  EXPECT_FALSE(wheel.pop(4, fired));
  ASSERT_TRUE(wheel.pop(2'000'000, fired));
  EXPECT_EQ(fired.subject, 2u);
  wheel.set(1'000'000, 0, 4);  // set later, so it fires last
  for (const std::uint32_t subject : {1u, 3u, 4u}) {
    EXPECT_EQ(wheel.next(), 1'000'000);
    ASSERT_TRUE(wheel.pop(1'000'000, fired));
    EXPECT_EQ(fired.subject, subject);
  }
  EXPECT_EQ(wheel.next(), TimerWheel::kNone);
  EXPECT_EQ(wheel.size(), 0u);
}

TEST(TimerWheel, AgreesWithASortedList) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    base::Random draw(seed, "wheel");
    TimerWheel wheel;
    std::set<std::tuple<std::int64_t, std::uint32_t>> expected;  // time, number
    std::vector<std::pair<std::int64_t, TimerId>> timers;        // by number
    std::int64_t now = 1'700'000'000'000'000'000;
    std::size_t most = 0, near_calls = 0;
    const auto near = [&](std::uint8_t, std::uint32_t number) {
      ++near_calls;
      EXPECT_TRUE(expected.contains({timers[number].first, number}));
    };
    for (int step = 0; step < 5000; ++step) {
      const std::uint64_t what = draw.below(10);
      if (what < 5) {
        const auto ahead = static_cast<std::int64_t>(draw.below(std::uint64_t{1} << draw.below(45)));
        const auto number = static_cast<std::uint32_t>(timers.size());
        timers.emplace_back(now + ahead, wheel.set(now + ahead, 7, number));
        expected.emplace(now + ahead, number);
      } else if (what < 7 && !timers.empty()) {
        const auto number = static_cast<std::uint32_t>(draw.below(timers.size()));
        if (expected.erase({timers[number].first, number}) == 1) wheel.cancel(timers[number].second);
      } else {
        const std::int64_t next = wheel.next();
        ASSERT_EQ(next, expected.empty() ? TimerWheel::kNone : std::get<0>(*expected.begin())) << "seed " << seed;
        if (expected.empty()) continue;
        now = next;
        TimerWheel::Fired fired;
        ASSERT_TRUE(wheel.pop(now, fired, near));
        ASSERT_EQ(fired.subject, std::get<1>(*expected.begin())) << "seed " << seed;
        ASSERT_EQ(fired.at, now);
        expected.erase(expected.begin());
      }
      most = std::max(most, expected.size());
      ASSERT_EQ(wheel.size(), expected.size());
    }
    EXPECT_GT(near_calls, 0u);
    EXPECT_EQ(wheel.capacity(), most);  // memory of the largest number at once
  }
}

}  // namespace
}  // namespace berth::client
