// The search for the highest sustained rate, on models of servers whose limit is known, in virtual time.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <queue>

#include "base/random.h"
#include "profile/knee.h"
#include "sim/histogram.h"

namespace berth::profile {
namespace {

constexpr double kSecond = 1e9;

/// `servers` that take `service_ns` each, one queue. Arrivals at a fixed rate, or at random.
struct Model {
  double service_ns = 1e6;
  int servers = 1;
  bool random = false;
  std::size_t evaluations = 2000;

  [[nodiscard]] Arrivals run(double rate) const {
    base::Random draws(1, "knee");
    std::priority_queue<double, std::vector<double>, std::greater<>> free;
    for (int i = 0; i < servers; ++i) free.push(0);
    Arrivals out;
    double due = 0;
    for (std::size_t i = 0; i < evaluations; ++i) {
      due += random ? draws.exponential(kSecond / rate) : kSecond / rate;
      const double done = std::max(due, free.top()) + service_ns;
      free.pop();
      free.push(done);
      out.emplace_back(static_cast<std::int64_t>(due), static_cast<std::int64_t>(done));
    }
    return out;
  }
  [[nodiscard]] std::string judged(double rate, std::int64_t limit_ns) const {
    const Arrivals arrivals = run(rate);
    sim::Histogram latency;
    for (const auto& [began, ended] : arrivals) latency.record(ended - began);
    return judge(latency.percentile(99), limit_ns, backlog_of(arrivals), true, {10, 10}, 0.99);
  }
};

TEST(Knee, OneServerAtAFixedRateHasItsServiceRate) {
  const Model model;  // 1 ms each: 1,000 per second, not one more
  const SearchResult found =
      search_knee([&](double rate) { return model.judged(rate, 5'000'000); }, {.first_rate = 10});
  EXPECT_EQ(found.end, SearchEnd::found);
  ASSERT_TRUE(found.sustained && found.not_sustained);
  EXPECT_NEAR(*found.sustained, 1000, 50);
  EXPECT_LE(*found.not_sustained, *found.sustained * 1.05);
  // Up by doubling: 10, 20, ... 1280, then by halves.
  EXPECT_EQ(found.attempts[1].rate, 20);
  EXPECT_LT(found.attempts.size(), 25U);
}

TEST(Knee, ThreeServersHaveThreeTimesTheRate) {
  const Model model{.servers = 3};
  const SearchResult found =
      search_knee([&](double rate) { return model.judged(rate, 5'000'000); }, {.first_rate = 10});
  EXPECT_NEAR(*found.sustained, 3000, 150);
}

TEST(Knee, RandomArrivalsHaveItBelowTheServiceRate) {
  const Model model{.random = true, .evaluations = 20'000};
  const SearchResult tight =
      search_knee([&](double rate) { return model.judged(rate, 3'000'000); }, {.first_rate = 10});
  const SearchResult loose =
      search_knee([&](double rate) { return model.judged(rate, 30'000'000); }, {.first_rate = 10});
  // M/D/1: 99 % wait at most two services when (1 - r)(e^2r - r e^r) = 0.99, at r = 0.32.
  EXPECT_NEAR(*tight.sustained, 320, 40);
  EXPECT_GT(*loose.sustained, *tight.sustained);
  EXPECT_LT(*loose.sustained, 1000 * 1.02);
}

TEST(Knee, IsSearchedBelowTheFirstRateToo) {
  const Model model;
  const SearchResult found =
      search_knee([&](double rate) { return model.judged(rate, 5'000'000); }, {.first_rate = 50'000});
  EXPECT_EQ(found.end, SearchEnd::found);
  EXPECT_NEAR(*found.sustained, 1000, 50);
}

TEST(Knee, SearchStaysWithinItsRates) {
  const SearchResult fine = search_knee([](double) { return std::string(); }, {.first_rate = 10, .highest_rate = 35});
  EXPECT_EQ(fine.end, SearchEnd::highest_sustained);
  EXPECT_EQ(*fine.sustained, 35);
  EXPECT_FALSE(fine.not_sustained);
  const SearchResult never =
      search_knee([](double) { return std::string("p99"); }, {.first_rate = 10, .lowest_rate = 1});
  EXPECT_EQ(never.end, SearchEnd::lowest_not_sustained);
  EXPECT_FALSE(never.sustained);
}

TEST(Knee, OneBadTrialDoesNotDecide) {
  // Every trial at a rate fails the first time: noise.
  std::vector<double> seen;
  const SearchResult found = search_knee(
      [&](double rate) {
        const bool again = std::find(seen.begin(), seen.end(), rate) != seen.end();
        seen.push_back(rate);
        return rate > 1000 ? std::string("too much") : again ? std::string() : std::string("noise");
      },
      {.first_rate = 100});
  EXPECT_EQ(found.end, SearchEnd::found);
  EXPECT_NEAR(*found.sustained, 1000, 50);
}

TEST(Knee, ReportsItsBoundsWhenTimeRunsOut) {
  int left = 5;
  const SearchResult found = search_knee(
      [&](double rate) -> std::optional<std::string> {
        if (left-- == 0) return std::nullopt;
        return rate > 1000 ? "too much" : "";
      },
      {.first_rate = 100});
  EXPECT_EQ(found.end, SearchEnd::out_of_time);
  EXPECT_EQ(*found.sustained, 800);
  EXPECT_EQ(found.attempts.size(), 5U);
}

TEST(Backlog, IsCountedWhenEvaluationsAreDue) {
  // Four evaluations, due at 0, 10, 20, 30, done at 5, 40, 41, 42: the last one finds two others and itself.
  const Backlog b = backlog_of({{30, 42}, {0, 5}, {10, 40}, {20, 41}});
  EXPECT_EQ(b.at_end, 3U);
  EXPECT_DOUBLE_EQ(b.early, 1);
  EXPECT_DOUBLE_EQ(b.late, 3);
  EXPECT_FALSE(b.grows);  // three are no backlog
  EXPECT_EQ(backlog_of({}).at_end, 0U);
}

TEST(Backlog, GrowsWhenServersAreTooSlow) {
  const Model model;
  EXPECT_FALSE(backlog_of(model.run(900)).grows);
  EXPECT_TRUE(backlog_of(model.run(2000)).grows);
}

TEST(LoadTrial, NamesTheLimitThatItExceeds) {
  EXPECT_EQ(judge(10, 10, {}, true, {100, 99}, 0.99), "");
  EXPECT_EQ(judge(10, 10, {}, true, {0, 0}, 0.99), "") << "nothing was asked for";
  EXPECT_EQ(judge(10, 10, {}, true, {100, 17}, 0.99), "only 17.0 % placed") << "a full cluster answers quickly";
  EXPECT_EQ(judge(10, 10, {}, true, {100, 98}, 0.99), "only 98.0 % placed");
  EXPECT_EQ(judge(10, 10, {}, true, {100, 17}, 0.1), "");
  EXPECT_EQ(judge(11, 10, {}, true, {100, 100}, 0.99), "p99 11 ns");
  EXPECT_EQ(judge(1, 10, {.early = 1, .late = 50, .at_end = 60, .grows = true}, true, {100, 100}, 0.99),
            "backlog grows: 1 to 50");
  EXPECT_EQ(judge(1, 10, {}, false, {100, 100}, 0.99), "the trial did not end in time");
}

}  // namespace
}  // namespace berth::profile
