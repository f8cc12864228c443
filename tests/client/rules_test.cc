// The pure rules of clients, with made-up numbers; recorded ones are in tests/golden/control/client_*.
#include <gtest/gtest.h>

#include "client/health.h"
#include "client/restart.h"
#include "model/job.h"

namespace berth::client {
namespace {

using base::kSecond;

std::int64_t no_draw(std::int64_t) {
  ADD_FAILURE() << "a jitter was drawn where no rule asks for one";
  return 0;
}

TEST(Restart, ModeDelayFollowsTheWorkedExample) {  // part 07, section 18, example 6
  const RestartPolicy policy{2, 300 * kSecond, 15 * kSecond, true};
  RestartCount count;
  const auto fails = [&](std::int64_t at, std::int64_t draw) {
    return decide_restart(policy, true, count, TaskEnd::failed, at * kSecond,
                          [=](std::int64_t bound) {
                            EXPECT_EQ(bound, 15 * kSecond);
                            return draw;
                          })
        .wait_ns;
  };
  EXPECT_EQ(fails(10, 0), 15 * kSecond);
  EXPECT_EQ(fails(40, 15 * kSecond - 1), 15 * kSecond + 3'749'999'999);  // just below 18.75 s
  EXPECT_EQ(fails(70, 0), 230 * kSecond);
  EXPECT_EQ(fails(300, 0), 0);  // the interval includes its end
  EXPECT_EQ(count.count, 4);
  EXPECT_EQ(fails(301, 0), 15 * kSecond);
  EXPECT_EQ(count.count, 1);
}

TEST(Restart, ModeFailGivesUpAfterTheAttempts) {  // R-CTRL-1522
  const RestartPolicy policy{2, 300 * kSecond, 15 * kSecond, false};
  RestartCount count;
  const auto zero = [](std::int64_t) { return std::int64_t{0}; };
  EXPECT_EQ(decide_restart(policy, true, count, TaskEnd::failed, 1, zero).state, RestartState::restarting);
  EXPECT_EQ(decide_restart(policy, true, count, TaskEnd::not_started, 2, zero).state, RestartState::restarting);
  const RestartDecision third = decide_restart(policy, true, count, TaskEnd::failed, 3, no_draw);
  EXPECT_EQ(third.state, RestartState::not_restarting);
  EXPECT_EQ(to_text(third.reason, policy), "Exceeded allowed attempts 2 in interval 5m0s and mode is \"fail\"");
}

TEST(Restart, KillsRequestsAndSuccessesAreNotCounted) {
  RestartPolicy policy{1, 60 * kSecond, kSecond, false};
  RestartCount count;
  EXPECT_EQ(decide_restart(policy, true, count, TaskEnd::killed, 1, no_draw).state, RestartState::killed);
  EXPECT_EQ(decide_restart(policy, true, count, TaskEnd::asked_to_restart, 1, no_draw).wait_ns, 0);
  policy.attempts = 0;
  EXPECT_EQ(decide_restart(policy, false, count, TaskEnd::succeeded, 1, no_draw).state, RestartState::terminated);
  EXPECT_EQ(decide_restart(policy, true, count, TaskEnd::succeeded, 1, no_draw).state, RestartState::not_restarting);
  EXPECT_EQ(count.count, 0);
}

TEST(Restart, SuccessRestartsOnlySomeJobTypesAndHooks) {  // R-CTRL-1521
  EXPECT_TRUE(restarts_on_success(JobType::service, {}));
  EXPECT_TRUE(restarts_on_success(JobType::system, {}));
  EXPECT_FALSE(restarts_on_success(JobType::batch, {}));
  EXPECT_FALSE(restarts_on_success(JobType::sysbatch, {}));
  EXPECT_FALSE(restarts_on_success(JobType::service, {Hook::prestart, false, false}));
  EXPECT_TRUE(restarts_on_success(JobType::batch, {Hook::poststart, true, false}));
  EXPECT_FALSE(restarts_on_success(JobType::system, {Hook::poststop, true, false}));
}

TaskStatus task(TaskState state, bool failed = false) {
  TaskStatus out;
  out.state = state, out.failed = failed;
  return out;
}

TEST(AllocStatus, FirstMatchDecides) {  // R-CTRL-1513
  const TaskStatus pending = task(TaskState::pending), running = task(TaskState::running), dead = task(TaskState::dead),
                   failed = task(TaskState::dead, true);
  const auto of = [](std::initializer_list<TaskStatus> tasks) {
    return alloc_status(std::span<const TaskStatus>(tasks.begin(), tasks.size())).status;
  };
  EXPECT_EQ(of({running, pending, dead, failed}), tables::Client::failed);
  EXPECT_EQ(of({pending, running, dead}), tables::Client::running);
  EXPECT_EQ(of({dead, pending}), tables::Client::pending);
  EXPECT_EQ(of({dead, dead}), tables::Client::complete);
  EXPECT_EQ(of({task(TaskState::running, true)}), tables::Client::running);  // failed counts for dead tasks only
  EXPECT_EQ(alloc_status({}).description, Description::none);
}

struct Watch {
  HealthPolicy policy;
  std::vector<TaskRole> roles{TaskRole{}};
  std::vector<TaskStatus> tasks{TaskStatus{}};
  HealthTracker tracker;
  explicit Watch(std::int64_t min_healthy_s, bool checks = false) {
    policy.min_healthy_ns = min_healthy_s * kSecond;
    policy.checks = checks;
    tracker = HealthTracker(policy, 0);
  }
  Health observe(std::int64_t now, bool failed = false, bool stopped = false) {
    return tracker.observe(tasks, roles, failed, stopped, now);
  }
  Health start(std::int64_t at, std::size_t i = 0) {
    tasks[i].state = TaskState::running, tasks[i].started_at = at;
    return observe(at);
  }
};

TEST(Health, FollowsTheWorkedExamples) {  // part 07, section 18, example 15
  Watch plain(10);
  EXPECT_EQ(plain.start(3 * kSecond), Health::unknown);
  EXPECT_EQ(plain.tracker.next_deadline(), 13 * kSecond);
  EXPECT_EQ(plain.tracker.advance(13 * kSecond), Health::healthy);
  EXPECT_EQ(plain.tracker.decided_at(), 13 * kSecond);

  Watch checks(10, true);
  EXPECT_EQ(checks.tracker.next_deadline(), kSecond / 2);  // the first poll
  EXPECT_EQ(checks.start(3 * kSecond), Health::unknown);
  EXPECT_EQ(checks.tracker.advance(60 * kSecond), Health::healthy);
  EXPECT_EQ(checks.tracker.decided_at(), 20 * kSecond + kSecond / 2);
}

TEST(Health, ALargeStepOfTheClockEqualsManySmallOnes) {  // R-CTRL-1575
  for (const std::int64_t end : {20 * kSecond, 20 * kSecond + kSecond / 2, 95 * kSecond, 1'000 * kSecond}) {
    Watch jumps(10, true), steps(10, true);
    EXPECT_EQ(jumps.tracker.advance(end), Health::unknown);
    for (std::int64_t at = 0; at <= end; at += kSecond / 2) EXPECT_EQ(steps.tracker.advance(at), Health::unknown);
    EXPECT_EQ(jumps.tracker.next_deadline(), steps.tracker.next_deadline()) << end;
  }
  Watch years(10, true);
  EXPECT_EQ(years.tracker.advance(1'000'000'000 * kSecond), Health::unknown);
  EXPECT_EQ(years.tracker.next_deadline(), 1'000'000'000 * kSecond + kSecond / 2);
}

TEST(Health, RestartResetsTheHealthyTime) {  // R-CTRL-1574
  Watch watch(10);
  EXPECT_EQ(watch.start(0), Health::unknown);
  watch.tasks[0].state = TaskState::pending;
  EXPECT_EQ(watch.observe(9 * kSecond), Health::unknown);
  EXPECT_EQ(watch.tracker.next_deadline(), kNever);
  EXPECT_EQ(watch.start(12 * kSecond), Health::unknown);
  EXPECT_EQ(watch.tracker.advance(30 * kSecond), Health::healthy);
  EXPECT_EQ(watch.tracker.decided_at(), 22 * kSecond);
}

TEST(Health, FailuresAreUnhealthyAtOnce) {  // R-CTRL-1573
  Watch ended(10);
  ended.tasks[0] = task(TaskState::dead), ended.tasks[0].finished_at = kSecond;
  EXPECT_EQ(ended.observe(kSecond), Health::unhealthy);
  Watch failed(10);
  EXPECT_EQ(failed.observe(kSecond, true), Health::unhealthy);
  Watch stopped(10);
  EXPECT_EQ(stopped.observe(kSecond, true, true), Health::stopped);
  Watch prestart(10);
  prestart.roles[0].hook = Hook::prestart;
  prestart.tasks[0] = task(TaskState::dead), prestart.tasks[0].finished_at = kSecond;
  EXPECT_EQ(prestart.observe(kSecond), Health::unknown);
}

TEST(Health, TheDeadlineAndFailingChecks) {  // R-CTRL-1572, 1575
  Watch watch(10, true);
  watch.policy.deadline_ns = 60 * kSecond;
  watch.tracker = HealthTracker(watch.policy, 0);
  EXPECT_EQ(watch.start(0), Health::unknown);
  watch.tracker.set_checks_pass(false, 8 * kSecond);
  EXPECT_EQ(watch.tracker.advance(59 * kSecond), Health::unknown);
  EXPECT_EQ(watch.tracker.next_deadline(), 60 * kSecond);
  EXPECT_EQ(watch.tracker.advance(61 * kSecond), Health::unhealthy);
  EXPECT_EQ(watch.tracker.decided_at(), 60 * kSecond);
  EXPECT_TRUE(check_passes("readiness", "failure"));
  EXPECT_FALSE(check_passes("healthiness", "failure"));
  EXPECT_FALSE(check_passes("readiness", "pending"));
}

/// Registration refuses a negative time, but a loaded cluster may contain one. It counts as none: healthy at once.
TEST(Health, NegativeDurationsCountAsZero) {
  Watch watch(-5, true);
  EXPECT_EQ(watch.tracker.advance(10 * kSecond), Health::unknown);  // no task runs yet
  EXPECT_EQ(watch.start(10 * kSecond), Health::healthy);
  EXPECT_EQ(watch.tracker.decided_at(), 10 * kSecond);
}

}  // namespace
}  // namespace berth::client
