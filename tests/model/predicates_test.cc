// Time arithmetic of rescheduling, names and plan operations, with the worked examples of the specification.
#include "model/predicates.h"

#include <gtest/gtest.h>

#include "model/job.h"
#include "model/names.h"
#include "model/plan_predicates.h"

namespace berth::model {
namespace {

using base::kSecond;

/// Seconds between failure and restart for `count` failures in a row, each `runs_s` after the previous restart.
std::vector<std::int64_t> delays_s(const ReschedulePolicy& policy, std::int64_t runs_s, std::size_t count) {
  auto job = std::make_shared<Job>();
  job->type = "service";
  job->task_groups.resize(1);
  job->task_groups[0].name = "web";
  job->task_groups[0].reschedule_policy = policy;
  std::vector<std::int64_t> out;
  std::int64_t now = 1000 * kSecond;
  Allocation alloc;
  alloc.job = job;
  alloc.task_group = "web";
  for (std::size_t i = 0; i < count; ++i) {
    now += runs_s * kSecond;
    alloc.modify_time = now;
    out.push_back(next_delay(alloc) / kSecond);
    now += next_delay(alloc);
    alloc.reschedule_tracker = replacement_tracker(alloc, now);
  }
  return out;
}

ReschedulePolicy unlimited(const char* function, std::int64_t delay_s, std::int64_t max_s) {
  ReschedulePolicy out;
  out.delay_function = function;
  out.delay = delay_s * kSecond;
  out.max_delay = max_s * kSecond;
  out.unlimited = true;
  return out;
}

TEST(NextDelay, ExponentialFollowsTheWorkedExample) {  // W-8
  const auto policy = unlimited("exponential", 30, 3600);
  EXPECT_EQ(delays_s(policy, 1, 9), (std::vector<std::int64_t>{30, 60, 120, 240, 480, 960, 1920, 3600, 3600}));
  EXPECT_EQ(delays_s(policy, 4000, 10), (std::vector<std::int64_t>{30, 60, 120, 240, 480, 960, 1920, 30, 60, 120}));
}

TEST(NextDelay, FibonacciFollowsTheWorkedExample) {  // W-9
  const auto policy = unlimited("fibonacci", 5, 50);
  EXPECT_EQ(delays_s(policy, 1, 8), (std::vector<std::int64_t>{5, 5, 10, 15, 25, 40, 50, 50}));
  EXPECT_EQ(delays_s(policy, 60, 12), (std::vector<std::int64_t>{5, 5, 10, 15, 25, 40, 5, 45, 50, 5, 5, 10}));
}

TEST(ReplacementTracker, KeepsFiveEventsWhenUnlimited) {  // R-MODEL-350
  Allocation alloc;
  alloc.id = "previous", alloc.node_id = "node";
  for (std::int64_t now = 1; now <= 7; ++now) alloc.reschedule_tracker = replacement_tracker(alloc, now);
  ASSERT_EQ(alloc.reschedule_tracker->events->size(), 6U);
  EXPECT_EQ(alloc.reschedule_tracker->events->front().reschedule_time, 2);
  EXPECT_EQ(alloc.reschedule_tracker->last_reschedule, "ok");
}

TEST(LastUnknown, IsTheOldestOfTheNewestRun) {  // R-MODEL-358
  Allocation alloc;
  for (const auto& [value, time] :
       {std::pair{"unknown", 1}, {"running", 2}, {"unknown", 3}, {"unknown", 4}, {"running", 5}})
    alloc.alloc_states.push_back({0, value, base::Time{time}});
  EXPECT_EQ(last_unknown(alloc).ns, 3);
  EXPECT_FALSE(needs_to_reconnect(alloc));
}

/// A failed service allocation with past reschedules (second, delay in seconds); it failed at `failed_s`.
Allocation rescheduled(const ReschedulePolicy& policy, std::int64_t failed_s,
                       const std::vector<std::pair<std::int64_t, std::int64_t>>& events) {
  auto job = std::make_shared<Job>();
  job->type = "service";
  job->task_groups.resize(1);
  job->task_groups[0].name = "web";
  job->task_groups[0].reschedule_policy = policy;
  Allocation alloc;
  alloc.job = job;
  alloc.task_group = "web";
  alloc.client_status = "failed";
  alloc.desired_status = "run";
  alloc.modify_time = failed_s * kSecond;
  auto& list = alloc.reschedule_tracker.emplace().events.emplace();
  for (const auto& [at_s, delay_s] : events) list.push_back({at_s * kSecond, "", "", delay_s * kSecond});
  return alloc;
}

ReschedulePolicy limited(std::int64_t attempts, std::int64_t interval_s, std::int64_t delay_s) {
  ReschedulePolicy out;
  out.attempts = attempts;
  out.interval = interval_s * kSecond;
  out.delay = delay_s * kSecond;
  out.delay_function = "constant";
  return out;
}

TEST(NextDelay, ConstantDelaysAreNeverCapped) {  // R-RECON-57
  EXPECT_EQ(next_delay(rescheduled(unlimited("constant", 90, 60), 1000, {{900, 90}})), 90 * kSecond);
  EXPECT_EQ(next_delay(rescheduled(unlimited("exponential", 5, 60), 1000, {{990, 50}})), 60 * kSecond);
}

TEST(NextDelay, ADelayEqualToTheMaximumIsNeitherCappedNorReset) {  // R-RECON-58; the last reschedule is 900 s old
  EXPECT_EQ(next_delay(rescheduled(unlimited("exponential", 5, 60), 1000, {{100, 30}})), 60 * kSecond);
  EXPECT_EQ(next_delay(rescheduled(unlimited("exponential", 5, 60), 1000, {{100, 31}})), 5 * kSecond);
}

TEST(RescheduleAttempts, AnEventOfExactlyOneIntervalAgoDoesNotCount) {  // R-RECON-59
  const ReschedulePolicy policy = limited(3, 100, 5);
  const Allocation alloc = rescheduled(policy, 1000, {{1005, 5}, {900, 5}, {901, 5}});
  EXPECT_EQ(count_attempts(alloc, &policy, base::Time{1000 * kSecond}).attempted, 2);  // the later one counts
}

TEST(NextReschedule, TheDelayMustBeShorterThanTheInterval) {  // R-RECON-60
  const base::Time at{1000 * kSecond};
  EXPECT_TRUE(next_reschedule_by_time(rescheduled(limited(2, 31, 30), 1000, {}), at).eligible);
  EXPECT_FALSE(next_reschedule_by_time(rescheduled(limited(2, 30, 30), 1000, {}), at).eligible);
  Allocation untracked = rescheduled(limited(2, 30, 30), 1000, {});
  untracked.reschedule_tracker.reset();  // without a tracker the delay does not matter
  EXPECT_TRUE(next_reschedule_by_time(untracked, at).eligible);
}

TEST(NextReschedule, AStoppedAllocationIsEligibleOnlyAfterAFailedReschedule) {  // R-RECON-63
  Allocation alloc = rescheduled(limited(2, 100, 5), 1000, {{950, 5}});
  EXPECT_TRUE(next_reschedule(alloc).eligible);
  EXPECT_EQ(next_reschedule(alloc).at.ns, 1005 * kSecond);
  alloc.desired_status = "evict";
  EXPECT_TRUE(next_reschedule(alloc).eligible);
  alloc.desired_status = "stop";
  EXPECT_FALSE(next_reschedule(alloc).eligible);
  alloc.reschedule_tracker->last_reschedule = "no placement";
  EXPECT_TRUE(next_reschedule(alloc).eligible);
}

TEST(ReplacementTracker, KeepsAnEventOfExactlyOneIntervalAgo) {  // R-SCHED-89
  const Allocation alloc = rescheduled(limited(3, 100, 5), 1000, {{899, 5}, {900, 5}, {950, 5}});
  const auto tracker = replacement_tracker(alloc, 1000 * kSecond);
  ASSERT_EQ(tracker.events->size(), 3u);
  EXPECT_EQ(tracker.events->front().reschedule_time, 900 * kSecond);
}

TEST(LastUnknown, EntriesAfterTheRunDoNotEndTheSearch) {  // R-RECON-48
  Allocation alloc;
  for (const auto& [status, at_s] : std::vector<std::pair<const char*, std::int64_t>>{
           {"unknown", 10}, {"running", 20}, {"unknown", 30}, {"unknown", 40}, {"running", 50}})
    alloc.alloc_states.push_back({0, status, base::Time{at_s * kSecond}});
  EXPECT_EQ(last_unknown(alloc).ns, 30 * kSecond);
}

TEST(AllocNames, HaveAnIndex) {  // R-MODEL-593
  EXPECT_EQ(alloc_name("web", "cache", 12), "web.cache[12]");
  EXPECT_EQ(alloc_index("web.cache[12]", "web", "cache"), 12U);
  EXPECT_EQ(alloc_index("web.cache[]", "web", "cache"), 0U);
  EXPECT_EQ(alloc_index("web.cache[-1]", "web", "cache"), ~std::uint64_t{0});
  EXPECT_EQ(parent_job_id("a/b/dispatch-1-x/periodic-2"), "a/b");
  EXPECT_EQ(parent_job_id("/periodic-2"), "/periodic-2");
  EXPECT_EQ(dispatched_job_id("j", "", 7, "0011aabb"), "j/dispatch-7-0011aabb");
}

TEST(NormalisedPlan, KeepsWhatIsSubmitted) {  // R-MODEL-199
  Plan plan;
  Allocation& stopped = plan.node_update["n"].emplace_back();
  stopped.id = "a", stopped.name = "j.g[0]", stopped.desired_description = "why", stopped.followup_eval_id = "eval";
  Allocation& evicted = plan.node_preemptions["n"].emplace_back();
  evicted.id = "a", evicted.preempted_by_allocation = "b", evicted.desired_description = "Preempted by alloc ID b";
  normalize(plan);
  Allocation& stop = plan.node_update["n"][0];
  EXPECT_TRUE(stop.name.empty());
  EXPECT_EQ(stop.followup_eval_id, "eval");
  EXPECT_EQ(stop.desired_description, "why");
  EXPECT_EQ(plan.node_preemptions["n"][0].preempted_by_allocation, "b");
  EXPECT_TRUE(plan.node_preemptions["n"][0].desired_description.empty());
}

}  // namespace
}  // namespace berth::model
