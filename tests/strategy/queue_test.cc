// Queue policies: every policy of the registry against its definition, evaluated literally at each moment for all jobs
// that wait, and what users write wrongly.
#include "berth/queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <random>

namespace berth::strategy {
namespace {

constexpr std::int64_t kMinute = 60'000'000'000;

std::unique_ptr<QueuePolicy> made(const std::string& text, std::uint64_t seed = 1) {
  const auto spec = queue_registry().parse(text);
  EXPECT_TRUE(spec) << spec.error().line();
  auto policy = queue_registry().make(*spec, seed);
  EXPECT_TRUE(policy) << policy.error().line();
  return std::move(*policy);
}

/// True if `a` is served before `b` at the time `now_ns`, by the words of the policy's definition.
using Definition = std::function<bool(const WaitingJob& a, const WaitingJob& b, std::int64_t now_ns)>;
double points(const WaitingJob& job, std::int64_t now_ns, double per_minute) {
  return job.priority + per_minute * static_cast<double>(now_ns - job.arrived_ns) / static_cast<double>(kMinute);
}
std::map<std::string, Definition> definitions() {
  return {
      {"fifo", [](auto& a, auto& b, auto) { return a.number < b.number; }},
      {"backfill", [](auto& a, auto& b, auto) { return a.number < b.number; }},
      {"shortest",
       [](auto& a, auto& b, auto) {
         if ((a.run_time_ns < 0) != (b.run_time_ns < 0)) return b.run_time_ns < 0;
         return a.run_time_ns != b.run_time_ns ? a.run_time_ns < b.run_time_ns : a.number < b.number;
       }},
      {"fair-share",  // within one namespace
       [](auto& a, auto& b, auto) { return a.priority != b.priority ? a.priority > b.priority : a.number < b.number; }},
      {"quota",  // within one namespace
       [](auto& a, auto& b, auto) { return a.priority != b.priority ? a.priority > b.priority : a.number < b.number; }},
      {"deadline",
       [](auto& a, auto& b, auto) {
         return a.deadline_ns != b.deadline_ns ? a.deadline_ns < b.deadline_ns : a.number < b.number;
       }},
      {"ageing:per_minute=2.5",
       [](auto& a, auto& b, auto now_ns) { return points(a, now_ns, 2.5) > points(b, now_ns, 2.5); }},
      {"ageing:per_minute=0", [](auto& a, auto& b, auto) {
         return a.priority != b.priority ? a.priority > b.priority : a.number < b.number;
       }}};
}

TEST(QueuePolicy, OrdersJobsByItsDefinitionAtEveryTime) {
  for (const auto& [text, before] : definitions()) {
    const auto policy = made(text);
    std::mt19937_64 random(7);
    struct Waiting {
      WaitingJob job;
      double key;
    };
    std::vector<Waiting> waiting;
    std::int64_t now_ns = 0;
    for (std::uint64_t number = 0; number < 400 || !waiting.empty();) {
      now_ns += static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(kMinute));
      if (number < 400 && random() % 2 == 0) {
        WaitingJob job{.number = number++,
                       .arrived_ns = now_ns,
                       .run_time_ns = random() % 8 == 0 ? -1 : static_cast<std::int64_t>(random() % 20) * kMinute,
                       .priority = 1 + static_cast<std::int32_t>(random() % 100)};
        if (random() % 4 != 0) job.deadline_ns = now_ns + static_cast<std::int64_t>(random() % 30) * kMinute;
        waiting.push_back({job, policy->key(job)});
        continue;
      }
      if (waiting.empty()) continue;
      const auto wanted = std::min_element(waiting.begin(), waiting.end(),
                                           [&](const auto& a, const auto& b) { return before(a.job, b.job, now_ns); });
      const auto got = std::min_element(waiting.begin(), waiting.end(), [](const auto& a, const auto& b) {
        return a.key != b.key ? a.key < b.key : a.job.number < b.job.number;
      });
      ASSERT_EQ(got->job.number, wanted->job.number) << text;
      waiting.erase(got);
    }
  }
}

TEST(QueuePolicy, EveryPolicyHasADefinitionHere) {
  for (const QueueInfo* info : queue_registry().all()) {
    const auto known = definitions();
    const bool checked = std::any_of(known.begin(), known.end(), [&](const auto& one) {
      return one.first == info->name || one.first.starts_with(info->name + ":");
    });
    EXPECT_EQ(checked, info->make != nullptr) << info->name;
    EXPECT_FALSE(info->formula.empty() || info->source.empty() || info->cost.empty()) << info->name;
  }
  EXPECT_EQ(made("priority"), nullptr) << "Nomad's own order needs no policy";
}

TEST(QueuePolicy, PredictedRunTimesErrByALogNormalFactor) {
  const auto predicted = made("shortest:error=0.3", 5), again = made("shortest:error=0.3", 5),
             other = made("shortest:error=0.3", 6);
  constexpr int kJobs = 20'000;
  double sum = 0, squares = 0;
  int differ = 0;
  for (std::uint64_t number = 0; number < kJobs; ++number) {
    const WaitingJob job{.number = number, .run_time_ns = 10 * kMinute};
    const double key = predicted->key(job);
    EXPECT_EQ(key, again->key(job)) << "the same prediction whenever the job is evaluated";
    differ += key != other->key(job);
    const double error = std::log(key / static_cast<double>(10 * kMinute));
    sum += error, squares += error * error;
  }
  // Standard errors: 0.3 / sqrt(20,000) = 0.0021 of the mean, 0.0015 of the deviation.
  EXPECT_NEAR(sum / kJobs, 0, 0.01);
  EXPECT_NEAR(std::sqrt(squares / kJobs), 0.3, 0.008);
  EXPECT_GT(differ, kJobs - 10);
}

TEST(QueuePolicy, QuotasAreSharesOfTheCluster) {
  EXPECT_EQ(made("fair-share")->quotas(), nullptr);
  const auto quota = made("quota:prod=0.5:dev=0.2:borrow=0.25:reclaim=no");
  ASSERT_NE(quota->quotas(), nullptr);
  EXPECT_EQ(*quota->shares(), (NamespaceWeights{{"prod", 0.5}, {"dev", 0.2}}));
  EXPECT_EQ(quota->quotas()->borrow, 0.25);
  EXPECT_FALSE(quota->quotas()->reclaim);
  EXPECT_EQ(made("quota")->quotas()->borrow, 1);
  EXPECT_TRUE(made("quota")->quotas()->reclaim);
}

TEST(QueuePolicy, BackfillHasReservationsAndPredictions) {
  EXPECT_EQ(made("fifo")->reservations(), std::nullopt);
  EXPECT_EQ(made("backfill")->reservations(), 1U);
  EXPECT_EQ(made("backfill:reservations=0")->reservations(), 0U);
  const WaitingJob job{.number = 3, .run_time_ns = kMinute};
  EXPECT_EQ(made("backfill")->predicted_ns(job), kMinute);
  EXPECT_EQ(static_cast<double>(made("backfill:error=0.3", 5)->predicted_ns(job)),
            std::floor(made("shortest:error=0.3", 5)->key(job)))
      << "the same predictions as shortest";
  EXPECT_LT(made("backfill:error=0.3")->predicted_ns({.run_time_ns = -1}), 0);
}

TEST(QueuePolicy, FairShareHasTheWeightsOfNamespaces) {
  EXPECT_EQ(made("fifo")->shares(), nullptr);
  ASSERT_NE(made("fair-share")->shares(), nullptr);
  EXPECT_TRUE(made("fair-share")->shares()->empty());
  const auto weighted = made("fair-share:prod=3:dev=0.5");
  EXPECT_EQ(*weighted->shares(), (NamespaceWeights{{"prod", 3}, {"dev", 0.5}}));
  EXPECT_EQ(weighted->half_life_s(), 0);
  EXPECT_EQ(made("fair-share:half_life=90:prod=3")->half_life_s(), 90);
}

TEST(QueuePolicy, MistakesAreNamedWithARemedy) {
  const auto line = [](const std::string& text) {
    const auto spec = queue_registry().parse(text);
    return spec ? "no error" : spec.error().line();
  };
  EXPECT_EQ(
      line("fif"),
      "queue policy 'fif': there is no such queue policy; did you mean 'fifo'? valid: ageing, backfill, deadline, "
      "fair-share, fifo, priority, quota, shortest");
  EXPECT_EQ(line("shortest:eror=1"),
            "queue policy 'shortest:eror=1': there is no parameter 'eror'; did you mean 'error'? valid: error");
  EXPECT_EQ(line("shortest:error=-1"), "queue policy 'shortest:error=-1': 'error' cannot be '-1'; use 0 to 10");
  EXPECT_EQ(
      line("backfill:reservations=1.5"),
      "queue policy 'backfill:reservations=1.5': 'reservations' cannot be '1.5'; use a whole number of jobs, first "
      "in the order, that cannot be delayed, up to 1000000000");
  EXPECT_EQ(line("ageing:per_minute=x"),
            "queue policy 'ageing:per_minute=x': 'per_minute' cannot be 'x'; use 0 to 1000000000");
  EXPECT_EQ(line("fair-share:prod=0"),
            "queue policy 'fair-share:prod=0': '0' is no weight of namespace 'prod'; write a number above 0, at most "
            "1e9, e.g. fair-share:prod=3:dev=1");
  EXPECT_EQ(
      line("quota:prod=1.5"),
      "queue policy 'quota:prod=1.5': '1.5' is no quota of namespace 'prod'; write a share of the cluster above 0, at "
      "most 1, e.g. quota:prod=0.5:dev=0.2");
  EXPECT_EQ(line("fair-share:prod=1:prod=2"),
            "queue policy 'fair-share:prod=1:prod=2': namespace 'prod' is weighed twice; remove one");
  EXPECT_EQ(line("fifo:prod=1"), "queue policy 'fifo:prod=1': there is no parameter 'prod'; there are none");
}

TEST(QueuePolicy, AUsersPolicyIsChosenLikeBerthsOwn) {
  struct LowestPriority {
    double key(const WaitingJob& job) const { return job.priority; }
  };
  QueueRegistry mine;
  mine.add("lowest-priority", "lowest priority first", LowestPriority{});
  const auto policy = mine.make(*mine.parse("lowest-priority"), 1);
  ASSERT_TRUE(policy && *policy);
  EXPECT_EQ((*policy)->key({.priority = 20}), 20);
}

}  // namespace
}  // namespace berth::strategy
