// Time arithmetic of rescheduling, names and plan operations, with the worked examples of the specification.
#include "model/predicates.h"

#include <gtest/gtest.h>

#include "model/names.h"
#include "model/plan_predicates.h"

namespace berth::model {
namespace {

using base::kSecond;

/// Seconds between failure and restart for `count` failures in a row, each `runs_s` after the restart before.
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

TEST(NextDelay, Exponential) {  // W-8
  const auto policy = unlimited("exponential", 30, 3600);
  EXPECT_EQ(delays_s(policy, 1, 9), (std::vector<std::int64_t>{30, 60, 120, 240, 480, 960, 1920, 3600, 3600}));
  EXPECT_EQ(delays_s(policy, 4000, 10), (std::vector<std::int64_t>{30, 60, 120, 240, 480, 960, 1920, 30, 60, 120}));
}

TEST(NextDelay, Fibonacci) {  // W-9
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

TEST(Names, IndexOfAName) {  // R-MODEL-593
  EXPECT_EQ(alloc_name("web", "cache", 12), "web.cache[12]");
  EXPECT_EQ(alloc_index("web.cache[12]", "web", "cache"), 12U);
  EXPECT_EQ(alloc_index("web.cache[]", "web", "cache"), 0U);
  EXPECT_EQ(alloc_index("web.cache[-1]", "web", "cache"), ~std::uint64_t{0});
  EXPECT_EQ(parent_job_id("a/b/dispatch-1-x/periodic-2"), "a/b");
  EXPECT_EQ(parent_job_id("/periodic-2"), "/periodic-2");
  EXPECT_EQ(dispatched_job_id("j", "", 7, "0011aabb"), "j/dispatch-7-0011aabb");
}

TEST(Plan, AStopWipesTheJobAndNotesTheClientStatus) {  // R-MODEL-191, 195, 196
  Allocation alloc;
  alloc.id = "a", alloc.node_id = "n";
  auto job = std::make_shared<Job>();
  job->id = "j", job->namespace_ = "default";
  alloc.job = job;
  Plan plan;
  EXPECT_TRUE(is_no_op(plan));
  append_stopped(plan, alloc, "gone", "lost", "", 5);
  ASSERT_EQ(plan.node_update["n"].size(), 1U);
  const Allocation& stop = plan.node_update["n"][0];
  EXPECT_EQ(plan.job, job);
  EXPECT_EQ(plan.job_id, "j");
  EXPECT_EQ(stop.job, nullptr);
  EXPECT_EQ(stop.desired_status, "stop");
  ASSERT_EQ(stop.alloc_states.size(), 1U);
  EXPECT_EQ(stop.alloc_states[0].time.ns, 5);
  Allocation other;
  other.id = "b", other.node_id = "n";
  pop_update(plan, other);
  EXPECT_FALSE(plan.node_update.empty());
  pop_update(plan, alloc);
  EXPECT_TRUE(is_no_op(plan));
}

TEST(Plan, NormalisingKeepsWhatIsSubmitted) {  // R-MODEL-199
  Allocation alloc;
  alloc.id = "a", alloc.node_id = "n", alloc.name = "j.g[0]";
  Plan plan;
  append_stopped(plan, alloc, "why", "", "eval", 0);
  append_preempted(plan, alloc, "b");
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
