// Hand-made cases of clients, rule by rule. Times are counted from the start of the first client, 1000 s on the clock.
#include "base/json.h"
#include "client/world.h"
#include "model/job.h"

namespace berth::client {
namespace {

using base::kSecond;
using tables::Client;
using testing::kMs;
using testing::TestJob;
using testing::World;

struct Fixture : ::testing::Test, World {
  std::int64_t t0 = now;
  Fixture() { clients.start(0, now); }
  std::int64_t since(std::int64_t at) const { return at - t0; }
};
using ClientReports = Fixture;
using ClientTasks = Fixture;
using ClientHeartbeats = Fixture;
using ClientContact = Fixture;
using ClientRestarts = Fixture;
using PreviousAllocation = Fixture;
using ClientHealth = Fixture;

// --- reports ---

TEST_F(ClientReports, LatencyFollowsTheWorkedExample) {  // part 07, section 18, example 16
  TestJob job;
  job.task("a");
  run(1, 0, 0).start_delay_ns = 350 * kMs;
  place(1, 0, job);
  run_for(3 * kSecond);
  ASSERT_EQ(seen.size(), 1u);  // pending and running were reported together, at the fifth tick
  EXPECT_EQ(since(seen[0].at), 1000 * kMs);
  EXPECT_EQ(seen[0].report.status.status, Client::running);
  EXPECT_EQ(since(seen[0].tasks[0].started_at), 350 * kMs);
  stop(1);  // at 3.0 s: compared with an acknowledged status
  run_for(kSecond);
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(since(seen[1].at), 3200 * kMs);
  EXPECT_EQ(seen[1].report.status.status, Client::complete);
  EXPECT_EQ(clients.counts().allocs, 0u);
}

TEST_F(ClientReports, AFirstFailureIsUrgent) {  // R-CTRL-1531
  TestJob job("batch");
  job.task("a");
  run(1, 0, 0) = {.run_ns = 0, .exit_code = 1};
  place(1, 0, job);
  run_for(kSecond);
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(since(seen[0].at), 200 * kMs);
  EXPECT_EQ(seen[0].report.status.status, Client::failed);
  EXPECT_TRUE(seen[0].tasks[0].failed);
}

TEST_F(ClientReports, AreRetriedWhileTheyFail) {  // R-CTRL-1533
  TestJob job;
  job.task("a");
  takes_reports = false;
  place(1, 0, job);
  run_for(2 * kSecond);
  stop(1);
  takes_reports = true;
  run_for(20 * kSecond);
  ASSERT_EQ(seen.size(), 1u);  // only the newest state
  EXPECT_EQ(seen[0].report.status.status, Client::complete);
  EXPECT_GE(since(seen[0].at), 6 * kSecond);
  EXPECT_LT(since(seen[0].at), 11 * kSecond);
}

TEST_F(ClientReports, ASlowClientReportsLater) {
  TestJob job;
  job.task("a");
  clients.set_report_lag(0, 30 * kSecond);
  place(1, 0, job);
  run_for(40 * kSecond);
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(since(seen[0].at), 31 * kSecond);
}

// --- tasks ---

TEST_F(ClientTasks, HooksRunInOrder) {  // R-CTRL-1514
  TestJob job("batch");
  job.task("main"), job.task("pre", "prestart"), job.task("side", "prestart", true), job.task("post", "poststart");
  job.task("stop", "poststop");
  of[{1, 0}] = {.start_delay_ns = 500 * kMs, .run_ns = 10 * kSecond};
  run(1, 1, 0) = {.run_ns = 2 * kSecond};
  run(1, 2, 0) = {.start_delay_ns = 3 * kSecond, .kill_ns = kSecond};
  run(1, 3, 0) = {.run_ns = kSecond};
  run(1, 4, 0) = {.run_ns = 4 * kSecond};
  place(1, 0, job);
  run_for(30 * kSecond);
  const testing::Seen& end = *last(1);
  EXPECT_EQ(end.report.status.status, Client::complete);
  EXPECT_EQ(since(end.tasks[1].started_at), 0);
  EXPECT_EQ(since(end.tasks[2].started_at), 3 * kSecond);
  EXPECT_EQ(since(end.tasks[0].started_at), 3500 * kMs);  // the last prestart task runs at 3 s
  EXPECT_EQ(since(end.tasks[3].started_at), 3500 * kMs);
  EXPECT_EQ(since(end.tasks[0].finished_at), 13500 * kMs);
  EXPECT_EQ(since(end.tasks[2].finished_at), 14500 * kMs);  // Main Tasks Dead, and a second until its end
  EXPECT_EQ(since(end.tasks[4].started_at), 14500 * kMs);
  EXPECT_EQ(since(end.tasks[4].finished_at), 18500 * kMs);
}

TEST_F(ClientTasks, RestartByPolicyThenFail) {  // R-CTRL-1522, 1525, 1526
  TestJob job;
  model::Task& task = job.task("a");
  task.restart_policy = model::RestartPolicy{1, 300 * kSecond, 10 * kSecond, "fail"};
  run(1, 0, 0) = {.run_ns = 5 * kSecond, .exit_code = 1};
  run(1, 0, 1) = {.run_ns = 5 * kSecond, .exit_code = 1};
  place(1, 0, job);
  run_for(60 * kSecond);
  EXPECT_EQ(first(1, Client::pending)->tasks[0].restarts, 1u);
  const testing::Seen& end = *last(1);
  EXPECT_EQ(end.report.status.status, Client::failed);
  const std::int64_t restart = since(end.tasks[0].started_at);
  EXPECT_GE(restart, 15 * kSecond);
  EXPECT_LT(restart, 17500 * kMs);
  EXPECT_EQ(end.tasks[0].finished_at - end.tasks[0].started_at, 5 * kSecond);
}

TEST_F(ClientTasks, AFailureKillsTheSiblingsButPoststop) {  // R-CTRL-1515, 1517
  TestJob job("batch");
  job.task("bad"), job.task("good"), job.task("stop", "poststop");
  run(1, 0, 0) = {.run_ns = 2 * kSecond, .exit_code = 1};
  run(1, 1, 0) = {.kill_ns = 3 * kSecond};
  run(1, 2, 0) = {.run_ns = kSecond};
  place(1, 0, job);
  run_for(20 * kSecond);
  EXPECT_EQ(since(first(1, Client::failed)->at), 2200 * kMs);
  EXPECT_EQ(since(first(1, Client::failed)->tasks[1].finished_at), 2 * kSecond);  // R-CTRL-1518: still running
  EXPECT_EQ(first(1, Client::failed)->tasks[1].event, TaskEvent::sibling_failed);
  const testing::Seen& end = *last(1);
  EXPECT_FALSE(end.tasks[1].failed);
  EXPECT_EQ(since(end.tasks[1].finished_at), 5 * kSecond);
  EXPECT_EQ(since(end.tasks[2].finished_at), 6 * kSecond);
}

TEST_F(ClientTasks, ADeadLeaderEndsTheOthers) {  // R-CTRL-1515
  TestJob job("batch");
  job.task("leader").leader = true;
  job.task("other");
  run(1, 0, 0) = {.run_ns = 3 * kSecond};
  place(1, 0, job);
  run_for(10 * kSecond);
  EXPECT_EQ(last(1)->report.status.status, Client::complete);
  EXPECT_EQ(since(last(1)->tasks[1].finished_at), 3 * kSecond);
}

TEST_F(ClientTasks, KillOrderAndDelays) {  // R-CTRL-1516, 1517
  TestJob job;
  job.task("side", "prestart", true);
  job.task("main").shutdown_delay = 2 * kSecond;
  job.task("leader").leader = true;
  run(1, 0, 0) = {.kill_ns = kSecond};
  run(1, 1, 0) = {.kill_ns = 60 * kSecond};  // the default timeout of 5 s ends it
  run(1, 2, 0) = {.kill_ns = 3 * kSecond, .exit_code = 9};
  place(1, 0, job);
  run_for(10 * kSecond);
  stop(1);
  run_for(30 * kSecond);
  const testing::Seen& end = *last(1);
  EXPECT_EQ(end.report.status.status, Client::complete);
  EXPECT_EQ(since(end.tasks[2].finished_at), 13 * kSecond);
  EXPECT_EQ(since(end.tasks[1].finished_at), 20 * kSecond);
  EXPECT_EQ(since(end.tasks[0].finished_at), 21 * kSecond);
}

TEST_F(ClientTasks, KillTimeoutsAreCappedAndDelaysSkipped) {  // R-CTRL-1516
  TestJob job;
  model::Task& task = job.task("a");
  task.shutdown_delay = 100 * kSecond, task.kill_timeout = 300 * kSecond;
  otherwise.kill_ns = 1000 * kSecond;
  place(1, 0, job);
  run_for(10 * kSecond);
  change(1, [](ServerAlloc& s) { s.desired = tables::Desired::stop, s.no_shutdown_delay = true; });
  run_for(60 * kSecond);
  EXPECT_EQ(since(last(1)->tasks[0].finished_at), 40 * kSecond);
}

TEST_F(ClientTasks, MaxRunDurationEndsTheAllocation) {  // R-CTRL-1519, R-REG-480, 482
  TestJob job("batch");
  job.task("a"), job.task("stop", "poststop");
  job.group().max_run_duration = 20 * kSecond;
  run(1, 0, 0) = {.kill_ns = 2 * kSecond};
  ServerAlloc& s = place(1, 0, job);
  s.create_time = now - 5 * kSecond;
  run_for(30 * kSecond);
  const testing::Seen& end = *last(1);
  EXPECT_EQ(end.report.status.status, Client::complete);
  EXPECT_EQ(end.report.status.description, Description::max_run_exceeded);
  EXPECT_EQ(since(end.tasks[0].finished_at), 17 * kSecond);
  EXPECT_EQ(end.tasks[1].started_at, kNoTime);
  const testing::Seen* fired = first(1, Client::complete);  // R-REG-482: from then on, regardless of its tasks
  ASSERT_NE(fired, nullptr);
  EXPECT_GE(since(fired->at), 15 * kSecond);
  EXPECT_LT(since(fired->at), 16 * kSecond);
  EXPECT_EQ(fired->report.status.description, Description::max_run_exceeded);
  TestJob service;
  service.task("a");
  service.group().max_run_duration = kSecond;
  place(2, 0, service, 1);
  run_for(30 * kSecond);
  EXPECT_EQ(status(2), Client::running);
}

TEST_F(ClientTasks, MaxRunDurationIsArmedAgain) {  // R-REG-480, 481, 483
  TestJob job("batch"), longer("batch");
  job.task("a"), longer.task("a");
  job.group().max_run_duration = 20 * kSecond, longer.group().max_run_duration = 40 * kSecond;
  longer.job->version = 1;
  place(1, 0, job), place(2, 0, job), place(3, 0, job);
  place(4, 0, job).create_time = 0;  // unknown: no limit
  run_for(10 * kSecond);
  change(2, [&](ServerAlloc& s) { s.job = 1, s.spec = &longer.stored; });
  stop(3);
  otherwise.kill_ns = 0;
  run_for(kSecond);
  clients.restart(0, now, 30 * kSecond, Recovery::all);  // its deadline of 20 s passes meanwhile
  run_for(20 * kSecond);
  EXPECT_EQ(status(1), Client::running);
  run_for(15 * kSecond);
  EXPECT_EQ(last(1)->report.status.description, Description::max_run_exceeded);
  EXPECT_EQ(since(last(1)->tasks[0].finished_at), 41 * kSecond);
  EXPECT_EQ(last(2)->report.status.description, Description::max_run_exceeded);
  EXPECT_EQ(since(last(2)->tasks[0].finished_at), 41 * kSecond) << "40 s have passed as well";
  EXPECT_EQ(last(3)->report.status.description, Description::completed);
  EXPECT_EQ(status(4), Client::running);
}

TEST_F(ClientTasks, ARecoveredTaskMayTakeLongerToKill) {
  TestJob job;
  job.task("a"), job.task("b");
  otherwise.kill_ns = kSecond, otherwise.recovered_kill_ns = 3 * kSecond;
  place(1, 0, job), place(2, 0, job);
  run_for(5 * kSecond);
  stop(2);
  run_for(2 * kSecond);
  EXPECT_EQ(since(last(2)->tasks[0].finished_at), 6 * kSecond) << "it has not been restarted";
  clients.restart(0, now, 0, Recovery::all);
  run_for(kSecond);
  stop(1);
  run_for(5 * kSecond);
  EXPECT_EQ(since(last(1)->tasks[0].finished_at), 11 * kSecond);
}

TEST_F(ClientTasks, ALeaderAndItsFollowerMayBothEndWhileTheClientIsAway) {
  TestJob job("batch");
  job.task("leader").leader = true;
  job.task("side").shutdown_delay = 2 * kSecond;
  run(1, 0, 0) = {.run_ns = 5 * kSecond, .exit_code = 0};
  run(1, 1, 0) = {.run_ns = 6 * kSecond, .exit_code = 0};
  place(1, 0, job);
  run_for(4 * kSecond);
  clients.restart(0, now, 20 * kSecond, Recovery::all);
  run_for(40 * kSecond);
  EXPECT_EQ(status(1), Client::complete);
}

TEST_F(ClientTasks, StartErrorsFollowTheRestartPolicy) {  // R-CTRL-1522, 1527
  TestJob job;
  job.task("a").restart_policy = model::RestartPolicy{5, 300 * kSecond, kSecond, "fail"};
  run(1, 0, 0).start_error = StartError::recoverable;
  run(2, 0, 0).start_error = StartError::fatal;
  place(1, 0, job), place(2, 0, job);
  run_for(10 * kSecond);
  EXPECT_EQ(status(1), Client::running);
  EXPECT_EQ(last(1)->tasks[0].restarts, 1u);
  EXPECT_EQ(status(2), Client::failed);
  EXPECT_EQ(last(2)->tasks[0].started_at, kNoTime);
}

TEST_F(ClientTasks, AllocationsWhoseRunnerCannotBeSetUpFail) {  // R-CTRL-1505, 1512
  TestJob job;
  job.task("a");
  failures = {{1, AllocFailure::not_added}, {2, AllocFailure::setup}};
  place(1, 0, job), place(2, 0, job);
  run_for(10 * kSecond);
  EXPECT_EQ(last(1)->report.status.status, Client::failed);
  EXPECT_EQ(last(1)->report.status.description, Description::not_added);
  EXPECT_EQ(last(1)->report.health, Health::unhealthy);
  EXPECT_EQ(since(last(1)->tasks[0].finished_at), 0);
  EXPECT_EQ(last(2)->report.status.description, Description::failed_tasks);
  EXPECT_EQ(clients.counts(), (Clients::Counts{.clients = 1, .timers = clients.counts().timers}));
}

TEST_F(ClientTasks, AllocationsDeletedByTheServerEndWithoutAReport) {  // R-CTRL-1502
  TestJob job;
  job.task("a");
  otherwise.kill_ns = 2 * kSecond;
  place(1, 0, job);
  run_for(5 * kSecond);
  ASSERT_EQ(seen.size(), 1u);
  allocs.erase(1);
  clients.allocs_changed(0, now);
  run_for(kSecond);
  EXPECT_EQ(clients.counts().tasks, 1u);
  run_for(2 * kSecond);
  EXPECT_EQ(clients.counts().tasks, 0u);
  EXPECT_EQ(seen.size(), 1u);
}

TEST_F(ClientTasks, AnUpdateInPlaceAppliesTheSettingsOfTheNewVersion) {
  TestJob before, after;
  before.task("a");
  after.task("a").restart_policy = model::RestartPolicy{3, 300 * kSecond, 5 * kSecond, "fail"};
  run(1, 0, 0) = {.run_ns = 20 * kSecond, .exit_code = 1};
  place(1, 0, before, 1);
  run_for(10 * kSecond);
  change(1, [&](ServerAlloc& s) { s.job = 2, s.spec = &after.stored; });
  run_for(30 * kSecond);
  EXPECT_EQ(status(1), Client::running);
  EXPECT_EQ(last(1)->tasks[0].restarts, 1u);
  EXPECT_EQ(clients.counts().groups, 1u);
}

TEST_F(ClientTasks, AClientKeepsADroppedVersionUntilItReceivesTheNext) {
  auto before = std::make_unique<TestJob>();
  TestJob after;
  for (TestJob* job : {before.get(), &after})
    job->task("a").restart_policy = model::RestartPolicy{3, 300 * kSecond, 5 * kSecond, "fail"};
  before->job->id = "before", after.job->id = "after";
  run(1, 0, 0) = {.run_ns = 20 * kSecond, .exit_code = 1};
  run(1, 0, 1) = {.run_ns = 20 * kSecond, .exit_code = 1};
  place(1, 0, *before, 1);
  run_for(10 * kSecond);
  const std::weak_ptr<const model::Job> old = before->job;
  allocs.at(1).second.spec = &after.stored, allocs.at(1).second.job = 2;  // the client is not notified
  before.reset();
  run_for(20 * kSecond);
  EXPECT_FALSE(old.expired());
  EXPECT_EQ(asked, (std::vector<std::string>{"before", "before"}));
  change(1, [](ServerAlloc&) {});
  run_for(30 * kSecond);
  EXPECT_EQ(asked.back(), "after");
  EXPECT_TRUE(old.expired());
}

TEST(SeededTasks, OutcomesDoNotDependOnTheOrderOfRequests) {  // R-CTRL-1704, 1710, 1711
  const SeededModel seeded{.seed = 5, .batch_run_ns = 10 * kSecond, .failure_probability = 0.25};
  const TaskModel model = seeded.model();
  const auto ask = [&](std::uint32_t name, std::uint32_t number, JobType type) {
    return model.outcome(model.context,
                         {.alloc = tables::AllocRow(name * 7), .name_index = name, .run = number, .type = type});
  };
  int failures = 0;
  double total = 0;
  for (std::uint32_t name = 0; name < 4000; ++name) {
    const Outcome batch = ask(name, 1, JobType::batch);
    failures += batch.exit_code;
    total += static_cast<double>(batch.run_ns);
    EXPECT_EQ(ask(name, 0, JobType::service).run_ns, kEndless);
    EXPECT_EQ(ask(name, 1, JobType::batch).run_ns, batch.run_ns);
  }
  EXPECT_NEAR(failures, 1000, 100);
  EXPECT_NEAR(total / 4000, 10e9, 1e9);
  EXPECT_NE(ask(1, 0, JobType::batch).run_ns, ask(1, 1, JobType::batch).run_ns);
}

// --- heartbeats, pulls, contact ---

TEST_F(ClientHeartbeats, FirstWithinTenSecondsThenEveryTtl) {  // R-CTRL-1540
  ttl_ns = 17 * kSecond;
  run_for(100 * kSecond);
  ASSERT_EQ(registrations.size(), 1u);
  EXPECT_EQ(since(registrations[0].first), 0);
  ASSERT_GE(beats.size(), 6u);
  EXPECT_LT(since(beats[0].first), 10 * kSecond);
  for (std::size_t i = 1; i < beats.size(); ++i) EXPECT_EQ(beats[i].first - beats[i - 1].first, 17 * kSecond);
}

TEST_F(ClientHeartbeats, RetriesDependOnTheTimeLeft) {  // R-CTRL-1541
  ttl_ns = 100 * kSecond;
  run_for(15 * kSecond);
  ASSERT_EQ(beats.size(), 1u);
  answers_heartbeats = false;
  run_for(1000 * kSecond);
  const std::int64_t good = beats[0].first;
  ASSERT_EQ(beats[1].first - good, 100 * kSecond);
  for (std::size_t i = 1; i + 1 < beats.size(); ++i) {
    const std::int64_t left = good + ttl_ns - beats[i].first, wait = beats[i + 1].first - beats[i].first;
    EXPECT_GE(wait, kSecond);
    EXPECT_LT(wait, left >= -30 * kSecond && left < 0 ? 2 * kSecond : 30 * kSecond + 1);
  }
  answers_heartbeats = true;
  run_for(200 * kSecond);
  EXPECT_EQ(beats.back().first - beats[beats.size() - 2].first, 100 * kSecond);
}

TEST_F(ClientHeartbeats, ANodeThatIsNotFoundRegistersAgain) {  // R-CTRL-1541
  run_for(12 * kSecond);
  out.clear();
  while (out.heartbeats.empty()) now = clients.next_deadline(), clients.advance(now, out);
  clients.heartbeat_answered(0, Answer::not_found, 0, now);
  run_for(15 * kSecond);
  EXPECT_EQ(registrations.size(), 2u);
  EXPECT_EQ(registrations[1].first, now - 15 * kSecond);
  EXPECT_GE(beats.size(), 2u);
}

TEST_F(ClientHeartbeats, AChangedFingerprintRegistersAndHeartbeatsContinue) {  // R-CTRL-1543
  run_for(30 * kSecond);
  clients.change_fingerprint(0, now);
  const std::int64_t changed = now;
  run_for(30 * kSecond);
  ASSERT_EQ(registrations.size(), 2u);
  EXPECT_GE(registrations[1].first, changed + 5 * kSecond);
  EXPECT_LT(registrations[1].first, changed + 10 * kSecond);
  for (std::size_t i = 1; i < beats.size(); ++i) EXPECT_EQ(beats[i].first - beats[i - 1].first, ttl_ns);
}

TEST_F(ClientContact, NoReportArrivesWhileUnreachable) {  // R-CTRL-E2, E3, 1503
  TestJob job("batch");
  job.task("a");
  run(1, 0, 0) = {.run_ns = 20 * kSecond};
  place(1, 0, job);
  run_for(10 * kSecond);
  clients.set_reachable(0, false, now);
  const std::size_t heard = beats.size() + pulls.size() + seen.size();
  place(2, 0, job);
  run_for(100 * kSecond);
  EXPECT_EQ(beats.size() + pulls.size() + seen.size(), heard);
  clients.set_reachable(0, true, now);
  const std::int64_t back = now;
  run_for(100 * kSecond);
  EXPECT_EQ(since(last(1)->tasks[0].finished_at), 20 * kSecond);  // the tasks continued
  EXPECT_LT(last(1)->at, back + 10 * kSecond);
  EXPECT_EQ(status(2), Client::running);
  EXPECT_LT(first(2, Client::running)->tasks[0].started_at, back + 60 * kSecond);
}

TEST_F(ClientContact, AnAnswerMayListOnlyChangedAllocations) {  // R-CTRL-1501, 1502
  TestJob job;
  job.task("a");
  place(1, 0, job);
  run_for(5 * kSecond);
  const auto pull = [&](ServerAllocs& some) {
    clients.allocs_changed(0, now);
    out.clear();
    clients.advance(now, out);
    ASSERT_EQ(out.pulls.size(), 1u);
    EXPECT_FALSE(out.pulls[0].complete);
    clients.deliver(0, some, now);
    EXPECT_EQ(clients.check(), "");
  };
  ServerAllocs some;
  some.complete = false;
  some.allocs.push_back(allocs[1].second), some.allocs[0].alloc = 2;
  some.allocs[0].client = Client::pending;
  pull(some);
  EXPECT_EQ(clients.counts().tasks, 2u);
  some.clear();
  some.complete = false, some.removed = {1, 99};
  pull(some);
  EXPECT_EQ(clients.counts().tasks, 1u);
  clients.set_reachable(0, false, now), clients.set_reachable(0, true, now);
  run_for(60 * kSecond);  // the pull after lost contact is complete: allocation 2 is not listed
  EXPECT_EQ(status(1), Client::running);
  EXPECT_EQ(clients.counts().tasks, 1u);
}

TEST_F(ClientContact, AMachineThatIsGoneEndsAllItsAllocations) {
  TestJob job;
  job.task("a");
  clients.start(7, now);
  place(1, 7, job);
  run_for(5 * kSecond);
  upstream[2] = {{1, Client::running, false}};
  place(2, 0, job), place(3, 0, job);
  run_for(500 * kMs);  // reports are on their way
  clients.remove(0);
  EXPECT_EQ(clients.check(), "");
  EXPECT_EQ(clients.counts(), (Clients::Counts{.clients = 1,
                                               .allocs = 1,
                                               .tasks = 1,
                                               .watched = clients.counts().watched,
                                               .groups = 1,
                                               .timers = clients.counts().timers}));
  EXPECT_FALSE(clients.has(0));
  run_for(30 * kSecond);
  EXPECT_EQ(last(3), nullptr);
  clients.start(0, now);
  run_for(30 * kSecond);
  EXPECT_EQ(status(3), Client::running);
}

TEST_F(ClientContact, AnUnknownAllocationReconnects) {  // R-CTRL-1504, 1560
  TestJob job;
  job.task("a");
  place(1, 0, job);
  run_for(10 * kSecond);
  const std::size_t before = seen.size();
  change(1, [](ServerAlloc& s) { s.client = Client::unknown; });
  run_for(5 * kSecond);
  ASSERT_EQ(seen.size(), before + 1);
  EXPECT_EQ(seen.back().tasks[0].event, TaskEvent::reconnected);
  EXPECT_EQ(seen.back().tasks[0].restarts, 0u);
  EXPECT_EQ(since(seen.back().tasks[0].started_at), 0);
  change(1, [](ServerAlloc& s) { s.client = Client::unknown, s.desired = tables::Desired::stop; });  // R-CTRL-1561
  run_for(5 * kSecond);
  EXPECT_EQ(status(1), Client::complete);
}

TEST_F(ClientContact, StopOnClientAfter) {  // R-CTRL-1551, 1552; part 07, section 18, example 10
  TestJob ten, fifteen, none;
  const auto after = [](TestJob& job, std::int64_t d) {
    job.task("a");
    job.group().disconnect.emplace();
    if (d > 0) job.group().disconnect->stop_on_client_after = d;
  };
  after(ten, 10 * kSecond), after(fifteen, 15 * kSecond), after(none, 0);
  ttl_ns = 5 * kSecond;
  place(1, 0, ten, 1), place(2, 0, fifteen, 2), place(3, 0, none, 3);
  run_for(60 * kSecond);
  for (const tables::AllocRow alloc : std::array<tables::AllocRow, 3>{1, 2, 3})
    EXPECT_EQ(status(alloc), Client::running);
  const std::int64_t ok = beats.back().first;
  clients.set_reachable(0, false, now);
  run_for(60 * kSecond);
  clients.set_reachable(0, true, now);
  run_for(60 * kSecond);
  EXPECT_EQ(last(1)->tasks[0].finished_at - ok, 10 * kSecond);
  EXPECT_EQ(last(2)->tasks[0].finished_at - ok, 25 * kSecond);  // the first counts from the time the timer fired
  EXPECT_EQ(last(1)->report.status.status, Client::complete);
  EXPECT_EQ(status(3), Client::running);
}

// --- a restarted client process ---

TEST_F(ClientRestarts, RecoveredTasksContinueUnchanged) {  // R-CTRL-1562 to 1564, 1524
  TestJob job("batch");
  job.task("a");
  run(1, 0, 0) = {.run_ns = 100 * kSecond};
  run(2, 0, 0) = {.run_ns = 15 * kSecond};  // ends while the process is down
  place(1, 0, job), place(2, 0, job);
  run_for(10 * kSecond);
  clients.restart(0, now, 20 * kSecond);
  run_for(15 * kSecond);
  EXPECT_EQ(status(2), Client::running);
  run_for(100 * kSecond);
  EXPECT_EQ(since(last(2)->tasks[0].finished_at), 30 * kSecond);  // seen when the process is back
  EXPECT_EQ(since(last(1)->tasks[0].finished_at), 100 * kSecond);
  EXPECT_EQ(last(1)->tasks[0].restarts, 0u);
  EXPECT_EQ(registrations.size(), 2u);
}

TEST_F(ClientRestarts, LostTasksWaitForContactExceptOfSystemJobs) {  // R-CTRL-1565
  TestJob service, system("system");
  service.task("a"), system.task("a");
  place(1, 0, service, 1), place(2, 0, system, 2), place(3, 0, service, 1);
  run_for(10 * kSecond);
  clients.set_reachable(0, false, now);
  clients.restart(0, now, 5 * kSecond, Recovery::none);
  run_for(100 * kSecond);
  stop(3);
  clients.set_reachable(0, true, now);
  const std::int64_t back = now;
  run_for(100 * kSecond);
  EXPECT_EQ(since(last(2)->tasks[0].started_at), 15 * kSecond);
  EXPECT_GE(last(1)->tasks[0].started_at, back);
  EXPECT_EQ(last(1)->report.status.status, Client::running);
  EXPECT_EQ(last(1)->tasks[0].restarts, 0u);
  EXPECT_EQ(last(3)->report.status.status, Client::complete);  // stopped meanwhile: never started again
  EXPECT_LT(last(3)->tasks[0].started_at, back);
}

TEST_F(ClientRestarts, AnAllocationThatCannotBeRestoredFails) {  // R-CTRL-1566
  TestJob job;
  job.task("a");
  place(1, 0, job);
  run_for(10 * kSecond);
  failures[1] = AllocFailure::not_restored;
  clients.restart(0, now, kSecond);
  run_for(10 * kSecond);
  EXPECT_EQ(status(1), Client::failed);
  EXPECT_EQ(last(1)->report.status.description, Description::not_restored);
}

TEST_F(ClientRestarts, ResetTheCountOfRestarts) {  // R-CTRL-1524
  TestJob job;
  job.task("a").restart_policy = model::RestartPolicy{1, 3600 * kSecond, kSecond, "fail"};
  for (std::uint32_t n : {0u, 1u}) run(1, 0, n) = {.run_ns = 20 * kSecond, .exit_code = 1};
  place(1, 0, job);
  run_for(30 * kSecond);  // one restart is used up
  clients.restart(0, now, 0);
  run_for(60 * kSecond);
  EXPECT_EQ(status(1), Client::running);
  EXPECT_EQ(last(1)->tasks[0].restarts, 2u);
}

TEST_F(ClientRestarts, AStoppedClientWatchesNothingUntilItStartsAgain) {  // R-CTRL-1562, 1570 to 1573
  TestJob job;
  job.task("a");
  job.group().update.emplace();
  job.group().update->health_check = "task_states", job.group().update->max_parallel = 1;
  job.group().update->min_healthy_time = 10 * kSecond, job.group().update->healthy_deadline = 60 * kSecond;
  ServerAlloc& s = place(1, 0, job);
  s.deployment = 4;
  run_for(5 * kSecond);
  clients.restart(0, now, kNever, Recovery::all);
  run_for(20 * kSecond);
  EXPECT_EQ(clients.counts().watched, 0u);
  clients.restart(0, now, 0, Recovery::all);
  run_for(8 * kSecond);
  EXPECT_EQ(last(1)->report.health, Health::unknown);  // as after a new start
  run_for(8 * kSecond);
  EXPECT_EQ(last(1)->report.health, Health::healthy);
  EXPECT_EQ(since(last(1)->report.health_at), 35 * kSecond);
}

TEST_F(ClientRestarts, ReportsSurviveTheProcess) {
  TestJob job("batch");
  job.task("a");
  run(1, 0, 0) = {.run_ns = kSecond};
  takes_reports = false;
  place(1, 0, job);
  run_for(3 * kSecond);
  clients.restart(0, now, 5 * kSecond);
  takes_reports = true;
  run_for(30 * kSecond);
  ASSERT_NE(last(1), nullptr);
  EXPECT_EQ(last(1)->report.status.status, Client::complete);
  EXPECT_EQ(since(last(1)->tasks[0].finished_at), kSecond);
}

// --- upstream allocations ---

TEST_F(PreviousAllocation, IsAwaitedOnTheSameNodeUntilItEnds) {  // R-CTRL-1510
  TestJob job;
  job.task("a");
  otherwise.kill_ns = 4 * kSecond;
  place(1, 0, job);
  run_for(5 * kSecond);
  stop(1);
  upstream[2] = {{1, Client::running, false}};
  place(2, 0, job);
  run_for(20 * kSecond);
  EXPECT_EQ(since(last(2)->tasks[0].started_at), 9 * kSecond);
}

TEST_F(PreviousAllocation, IsAwaitedOnAnotherNodeUntilTheServerReportsItsEnd) {
  TestJob job;
  job.task("a");
  clients.start(7, now);
  place(1, 7, job);
  run_for(5 * kSecond);
  upstream[2] = {{1, Client::running, false}}, upstream[3] = {{1, Client::running, false}};
  place(2, 0, job), place(3, 0, job);
  run_for(5 * kSecond);
  EXPECT_TRUE(clients.awaits_upstream(1));
  EXPECT_EQ(clients.counts().waits, 2u);
  stop(3);  // a waiting allocation can be stopped
  run_for(5 * kSecond);
  EXPECT_EQ(status(3), Client::complete);
  EXPECT_EQ(last(3)->tasks[0].started_at, kNoTime);
  EXPECT_EQ(clients.counts().waits, 1u);
  clients.upstream_changed({1, Client::running, false}, now);
  run_for(kSecond);
  EXPECT_EQ(status(2), Client::pending);
  clients.upstream_changed({1, Client::unknown, false}, now);
  const std::int64_t told = now;
  run_for(5 * kSecond);
  EXPECT_EQ(last(2)->tasks[0].started_at, told);
  EXPECT_FALSE(clients.awaits_upstream(1));
}

TEST_F(PreviousAllocation, AnUnreachableClientReceivesMissedChangesLater) {
  TestJob job;
  job.task("a");
  clients.start(7, now);
  place(1, 7, job);
  run_for(5 * kSecond);
  upstream[2] = {{1, Client::running, false}};
  place(2, 0, job);
  run_for(kSecond);
  clients.set_reachable(0, false, now);
  clients.upstream_changed({1, Client::complete, true}, now);
  run_for(10 * kSecond);
  clients.set_reachable(0, true, now);
  const std::int64_t back = now;
  run_for(100 * kSecond);
  EXPECT_GE(last(2)->tasks[0].started_at, back);
}

TEST_F(PreviousAllocation, RestartedClientForgetsTasksThatNeverStarted) {  // R-CTRL-1563
  TestJob job;
  job.task("a");
  upstream[2] = {{1, Client::running, false}};
  clients.start(7, now);
  place(1, 7, job);
  run_for(5 * kSecond);
  place(2, 0, job);
  run_for(5 * kSecond);
  clients.restart(0, now, 5 * kSecond);
  run_for(kSecond);
  EXPECT_EQ(clients.counts().allocs, 2u);
  run_for(5 * kSecond);
  EXPECT_EQ(clients.counts().allocs, 2u);  // removed, and added again
  EXPECT_EQ(last(2), nullptr);
  stop(1);
  run_for(10 * kSecond);
  EXPECT_EQ(status(2), Client::running);
}

// --- health ---

struct HealthCase {
  const char* name;
  const char* type;
  const char* health_check;  // of the update block; "" without deployment
  CheckOutcome checks;
  std::int64_t start_delay_ms;
  Health health;
  std::int64_t at_ms;
};
class ClientHealthTable : public ::testing::TestWithParam<HealthCase> {};

TEST_P(ClientHealthTable, IsReportedWithItsTime) {  // R-CTRL-1570 to 1576; min_healthy_time 10 s, deadline 60 s
  const HealthCase& c = GetParam();
  World world;
  world.clients.start(0, world.now);
  const std::int64_t t0 = world.now;
  TestJob job(c.type);
  job.task("a");
  job.group().migrate = model::MigrateStrategy{1, "checks", 20 * kSecond, 90 * kSecond};
  if (*c.health_check != 0) {
    job.group().update.emplace();
    job.group().update->health_check = c.health_check, job.group().update->max_parallel = 1;
    job.group().update->min_healthy_time = 10 * kSecond, job.group().update->healthy_deadline = 60 * kSecond;
  }
  world.otherwise.start_delay_ns = c.start_delay_ms * kMs, world.otherwise.checks = c.checks;
  ServerAlloc& s = world.place(1, 0, job);
  if (*c.health_check != 0) s.deployment = 4;
  world.run_for(200 * kSecond);
  const testing::Seen& end = *world.last(1);
  EXPECT_EQ(end.report.health, c.health);
  if (c.health == Health::unknown) return;
  EXPECT_EQ(end.report.health_at - t0, c.at_ms * kMs);
}
INSTANTIATE_TEST_SUITE_P(
    Rules, ClientHealthTable,
    ::testing::Values(
        HealthCase{"Deployment", "service", "checks", CheckOutcome::automatic, 3000, Health::healthy, 13000},
        HealthCase{"Migration", "service", "", CheckOutcome::automatic, 3000, Health::healthy, 23000},
        HealthCase{"System", "system", "task_states", CheckOutcome::automatic, 0, Health::healthy, 10000},
        HealthCase{"Manual", "service", "manual", CheckOutcome::automatic, 0, Health::unknown, 0},
        HealthCase{"Batch", "batch", "checks", CheckOutcome::automatic, 0, Health::unknown, 0},
        HealthCase{"Deadline", "service", "checks", CheckOutcome::automatic, 55000, Health::unhealthy, 60000},
        HealthCase{"NeverPasses", "service", "checks", CheckOutcome::never, 0, Health::unhealthy, 60000},
        HealthCase{"Unhealthy", "service", "checks", CheckOutcome::unhealthy, 0, Health::unhealthy, 10000}),
    [](const auto& test) { return std::string(test.param.name); });

TEST_F(ClientHealth, ChecksArePolled) {  // part 07, section 18, example 15
  TestJob job;
  job.task("a");
  json::Value service, services = json::Value::array(), checks = json::Value::array();
  checks.push(json::Value::object());
  service.set("Provider", "nomad"), service.set("Checks", checks), services.push(service);
  job.group().services = services;
  otherwise.start_delay_ns = 3 * kSecond;
  place(1, 0, job);
  run_for(60 * kSecond);
  EXPECT_EQ(since(last(1)->report.health_at), 20500 * kMs);
}

TEST_F(ClientHealth, AFailureWithoutAWatcherIsUnhealthyWithoutATime) {  // R-CTRL-1518
  TestJob job;
  job.task("a");
  job.group().update.emplace();
  job.group().update->health_check = "manual";
  run(1, 0, 0) = {.run_ns = kSecond, .exit_code = 1};
  place(1, 0, job).deployment = 3;
  run_for(10 * kSecond);
  EXPECT_EQ(last(1)->report.health, Health::unhealthy);
  EXPECT_EQ(last(1)->report.health_at, kNoTime);
}

TEST_F(ClientHealth, ANewDeploymentIsWatchedAgain) {  // R-CTRL-1570, 1572
  TestJob job;
  job.task("a");
  job.group().update.emplace();
  job.group().update->max_parallel = 1;
  job.group().update->min_healthy_time = 10 * kSecond, job.group().update->healthy_deadline = 60 * kSecond;
  place(1, 0, job).deployment = 3;
  run_for(30 * kSecond);
  EXPECT_EQ(since(last(1)->report.health_at), 10 * kSecond);
  change(1, [](ServerAlloc& s) { s.alloc_modify_index += 5; });
  run_for(30 * kSecond);
  EXPECT_EQ(since(last(1)->report.health_at), 10 * kSecond);  // health is known: not watched again
  change(1, [](ServerAlloc& s) { s.deployment = 4, s.has_health = false; });
  run_for(30 * kSecond);
  EXPECT_EQ(since(last(1)->report.health_at), 70 * kSecond);
}

TEST_F(ClientHealth, AStopBeforeAnAnswerIsUnhealthy) {  // as recorded, which contradicts R-CTRL-1576
  TestJob job, batch("batch");
  job.task("a"), batch.task("a");
  place(1, 0, job, 1), place(2, 0, batch, 2);
  run_for(3 * kSecond);
  place(3, 0, job, 1), stop(1), stop(2);
  run_for(30 * kSecond);
  EXPECT_EQ(last(1)->report.health, Health::unhealthy);
  EXPECT_EQ(since(last(1)->report.health_at), 3 * kSecond);
  EXPECT_EQ(last(2)->report.health, Health::unknown);  // not watched
  stop(3);
  run_for(3 * kSecond);
  EXPECT_EQ(last(3)->report.health, Health::healthy);  // known before
}

TEST_F(ClientHealth, GroupsThatUpdateAllAtOnceAreNotWatchedInADeployment) {
  TestJob job;
  job.task("a");
  job.group().update.emplace();
  job.group().update->max_parallel = 0, job.group().update->min_healthy_time = kSecond;
  job.group().update->healthy_deadline = 60 * kSecond;
  place(1, 0, job).deployment = 3;
  run_for(100 * kSecond);
  EXPECT_EQ(last(1)->report.health, Health::unknown);
}

// --- ticks ---

/// Clients whose ticks keep their own phases.
struct ReportTicks : ::testing::Test, World {
  ReportTicks() {
    client::ClientsConfig made = config(1);
    made.timing.own_ticks = true;
    clients = client::Clients(std::move(made));
    for (NodeRow node = 0; node < 4; ++node) clients.start(node, now);
  }
};

TEST_F(ReportTicks, NeighbouringNodesReportAQuarterOfAPeriodApart) {
  TestJob job("batch");
  job.task("a");
  for (std::uint32_t i = 0; i < 4; ++i) {
    run(AllocRow(i), 0, 0) = {.run_ns = 20 * kMs, .exit_code = 1};
    place(AllocRow(i), NodeRow(i), job);
  }
  run_for(kSecond);
  ASSERT_EQ(seen.size(), 4u);
  for (std::size_t i = 1; i < 4; ++i) EXPECT_EQ(seen[i].at - seen[i - 1].at, 50 * kMs);
}

TEST_F(ReportTicks, AStatusThatRecursIsNotUrgent) {  // R-CTRL-1531
  TestJob job;
  job.task("a");
  run(1, 0, 1).start_delay_ns = 10 * kMs;  // the second run
  place(1, 0, job);
  run_for(5 * kSecond + 20 * kMs);
  const std::size_t before = seen.size();
  EXPECT_EQ(clients.restart_tasks(1, "a", false, now), "");
  run_for(500 * kMs);
  EXPECT_EQ(seen.size(), before);  // pending and running again between two ticks
  run_for(600 * kMs);
  ASSERT_EQ(seen.size(), before + 1);
  EXPECT_EQ(last(1)->report.status.status, Client::running);
  EXPECT_EQ(last(1)->tasks[0].restarts, 1u);
}

// --- remote tasks ---

struct RemoteTasks : ::testing::Test, World {
  TestJob job;
  RemoteTasks() : World(1, {"exec"}) {
    clients.start(0, now), clients.start(1, now);
    job.task("a");
    otherwise.run_ns = 100 * kSecond, otherwise.exit_code = 3;
    place(1, 0, job);
    run_for(10 * kSecond);
  }
};

TEST_F(RemoteTasks, ReportsOfARunningTaskCarryItsHandle) {  // R-SEED-13
  ASSERT_EQ(status(1), Client::running);
  EXPECT_NE(last(1)->handles[0].work, 0u);
  stop(1);
  run_for(10 * kSecond);
  EXPECT_EQ(last(1)->handles[0], Handle());
}

TEST_F(RemoteTasks, ALostTaskIsRecoveredByItsReplacementAndNotKilledByTheOldClient) {  // R-SEED-19 to 21
  const Handle handle = last(1)->handles[0];
  const std::int64_t began = last(1)->tasks[0].started_at;
  clients.set_reachable(0, false, now);
  run_for(20 * kSecond);
  change(1, [](ServerAlloc& s) { s.desired = tables::Desired::stop, s.client = Client::lost; });
  handles[2] = {handle};
  place(2, 1, job);
  run_for(20 * kSecond);
  EXPECT_EQ(status(2), Client::running);
  EXPECT_EQ(last(2)->handles[0], handle);
  EXPECT_EQ(last(2)->tasks[0].restarts, 0u);
  clients.set_reachable(0, true, now);
  run_for(100 * kSecond);
  EXPECT_EQ(last(1)->report.status.status, Client::complete);  // detached: the remote work continued
  EXPECT_EQ(last(2)->tasks[0].finished_at, began + 100 * kSecond);
  EXPECT_EQ(last(2)->report.status.status, Client::failed);  // the exit code of the work
}

TEST_F(RemoteTasks, AHandleThatCannotBeRecoveredStartsANewInstance) {  // R-SEED-19
  handles[2] = {last(1)->handles[0]};
  run(2, 0, 0) = {.run_ns = 500 * kSecond, .recovered = false};
  place(2, 1, job);
  run_for(200 * kSecond);
  EXPECT_EQ(status(2), Client::running);
  EXPECT_NE(last(2)->handles[0], handles[2][0]);
}

}  // namespace
}  // namespace berth::client
