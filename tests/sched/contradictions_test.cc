// Contradictory states are decided by the rules or are harmless: no crash, no hang, no endless run.
#include <gtest/gtest.h>

#include <array>
#include <random>

#include "model/job.h"
#include "plan/apply.h"
#include "sched/small_world.h"
#include "support/sanitized.h"
#include "tables/check.h"

namespace berth::sched {
namespace {

const char* const kTypes[] = {"service", "batch", "system", "sysbatch"};

std::string status_of(const SmallWorld& w, std::size_t alloc) {  // of its stop entry, or ""
  for (const model::Allocation& stop : w.stops())
    if (stop.id == w.state.allocs[alloc].id) return stop.client_status + ": " + stop.desired_description;
  return "";
}

TEST(InconsistentStates, AnAllocOnAMissingNodeIsLost) {  // R-RECON-106 row 15, R-SCHED-129 row 8
  for (const char* type : kTypes)
    for (const char* node : {"00000000-0000-0000-0000-0000000000ff", "no uuid", ""}) {
      SCOPED_TRACE(std::string(type) + " " + node);
      SmallWorld w;
      w.add_node();
      const auto job = SmallWorld::job(type, 1);
      w.store(job);
      w.add(job, 0, 0).node_id = node;
      w.run();
      EXPECT_EQ(w.error, "");
      EXPECT_EQ(status_of(w, 0), "lost: alloc is lost since its node is down");
      EXPECT_EQ(w.placed().size(), 1U);
    }
}

TEST(InconsistentStates, AnAllocOfAMissingJobIsStopped) {  // R-SCHED-37, R-RECON-75
  for (const char* type : kTypes)
    for (const bool carries_job : {true, false}) {
      SCOPED_TRACE(std::string(type) + (carries_job ? "" : " without a job of its own"));
      SmallWorld w;
      w.add_node();
      w.add(SmallWorld::job(type, 1), 0, 0);
      if (!carries_job) w.state.allocs[0].job.reset();  // an import leaves such allocations out (R-MODEL-614)
      w.eval.type = type;
      w.run();
      EXPECT_EQ(w.error, "");
      EXPECT_EQ(status_of(w, 0), "running: alloc not needed due to job update");
      EXPECT_TRUE(w.placed().empty());
    }
}

TEST(InconsistentStates, AnAllocOfAnUnknownGroupIsStopped) {
  for (const char* type : kTypes) {
    SCOPED_TRACE(type);
    SmallWorld w;
    w.add_node();
    const auto job = SmallWorld::job(type, 1);
    w.store(job);
    w.add(job, 0, 0);
    w.add(job, 0, 0, "running", "other");  // its own job has no such group either (R-RECON-40)
    w.run();
    EXPECT_EQ(w.error, "");
    EXPECT_EQ(status_of(w, 0), "");
    EXPECT_EQ(status_of(w, 1), "running: alloc not needed due to job update");
  }
}

TEST(InconsistentStates, ADeploymentOfAMissingVersionOrJobIsAccepted) {  // R-RECON-71, R-SCHED-136
  for (const char* type : {"service", "system"}) {
    SCOPED_TRACE(type);
    SmallWorld w;
    w.add_node();
    const auto job = SmallWorld::job(type, 1, 2);
    job->task_groups[0].update.emplace().max_parallel = 1;
    w.store(job);
    model::Deployment& d = w.add_deployment(job, "running");
    d.job_version = 77;
    d.task_groups["web"];  // a null entry
    d.task_groups["none"].emplace().placed_canaries = {"nobody", ""};
    w.state.deployments.push_back(d);  // listed twice
    w.add_deployment(job, "no status").job_id = "other";
    w.run();
    EXPECT_EQ(w.error, "");
    ASSERT_FALSE(w.plans.empty());
    ASSERT_FALSE(w.plans[0].deployment_updates.empty());
    EXPECT_EQ(w.plans[0].deployment_updates[0].status_description, "Cancelled due to newer version of job");
    EXPECT_EQ(w.placed().size(), 1U);
  }
}

TEST(InconsistentStates, MissingAndRepeatedNamesAreAccepted) {  // R-RECON-158 to 173
  SmallWorld w;
  w.add_node();
  const auto job = SmallWorld::job("service", 4);
  w.store(job);
  for (const std::uint64_t index : {1U, 1U, 9U}) w.add(job, 0, index);
  w.run();
  EXPECT_TRUE(w.stops().empty());
  ASSERT_EQ(w.placed().size(), 1U);
  EXPECT_EQ(w.placed()[0].name, "j.web[0]");
  const char* const kOdd[] = {"",
                              "x",
                              "j.web[",
                              "j.web[-1]",
                              "j.web[99999999999999999999999]",
                              "j.web[4294967295]",
                              "j.web[18446744073709551615]",
                              "k.web[0]"};
  for (const char* type : kTypes)
    for (const char* odd : kOdd) {
      SCOPED_TRACE(std::string(type) + " " + odd);
      w.state.allocs.clear();
      const auto other = SmallWorld::job(type, 1);
      w.state.jobs.clear(), w.state.job_versions.clear();
      w.store(other);
      w.add(other, 0, 0).name = odd;
      w.add(other, 0, 0).name = odd;
      w.run();
      EXPECT_EQ(w.error, "");
      if (std::string_view(type) == "service" || std::string_view(type) == "batch") {
        EXPECT_EQ(w.stops().size(), 1U);  // one too many
        EXPECT_TRUE(w.placed().empty());
      } else {
        EXPECT_EQ(w.stops().size(), 2U);  // names that are not required (R-SCHED-129 row 1)
        EXPECT_EQ(w.placed().size(), 1U);
      }
    }
}

TEST(InconsistentStates, NegativeAndAbsurdCountsAreAccepted) {
  for (const char* type : kTypes)
    for (const std::int64_t count : {std::int64_t{-1}, std::numeric_limits<std::int64_t>::min()}) {
      SCOPED_TRACE(std::string(type) + " " + std::to_string(count));
      SmallWorld w;
      w.add_node();
      const auto job = SmallWorld::job(type, count);
      model::ReschedulePolicy& policy = job->task_groups[0].reschedule_policy.emplace();
      policy.unlimited = true;
      auto& update = job->task_groups[0].update.emplace();
      update.max_parallel = update.canary = count;
      w.store(job);
      w.run();  // nothing is stored yet
      EXPECT_TRUE(w.placed().empty());
      w.add(job, 0, 0), w.add(job, 0, 1), w.add(job, 0, 2, "failed");
      w.state.allocs[1].desired_transition.migrate = true;
      w.run();
      EXPECT_EQ(w.error, "");
      EXPECT_TRUE(w.placed().empty());
      EXPECT_NE(status_of(w, 0), "");
    }
  SmallWorld w;  // a huge count: all that does not fit is reported at once
  w.add_node();
  w.store(SmallWorld::job("service", std::int64_t{1} << 40));
  w.run();
  EXPECT_EQ(w.placed().size(), 40U);
  EXPECT_EQ(w.updated.failed_tg_allocs.at("web").coalesced_failures, std::numeric_limits<std::int32_t>::max());
  EXPECT_EQ(w.updated.queued_allocations->at("web"), (std::int64_t{1} << 40) - 40);
}

TEST(InconsistentStates, TimesInTheFutureAndBeforeTheEpochAreAccepted) {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min(),
                         kMost = std::numeric_limits<std::int64_t>::max();
  for (const char* type : {"service", "batch"})
    for (const char* function : {"constant", "exponential", "fibonacci"}) {
      SmallWorld w;
      w.add_node();
      const auto job = SmallWorld::job(type, 6);
      model::ReschedulePolicy& policy = job->task_groups[0].reschedule_policy.emplace();
      policy.unlimited = true;
      policy.delay_function = function;
      policy.delay = 30 * base::kSecond;
      policy.max_delay = kMost;
      job->task_groups[0].disconnect.emplace().lost_after = 60 * base::kSecond;
      w.store(job);
      const std::int64_t times[] = {kLeast,    kLeast + 1, -1, SmallWorld::kNow + 86'400 * base::kSecond,
                                    kMost - 1, kMost};
      for (std::uint64_t i = 0; i < 6; ++i) {
        model::Allocation& alloc = w.add(job, 0, i, i % 3 == 2 ? "unknown" : "failed");
        alloc.modify_time = times[i];
        if (i % 2) alloc.task_states["t"].emplace().finished_at = base::Time{times[5 - i]};
        alloc.alloc_states = {{0, i % 3 == 2 ? "unknown" : "running", base::Time{times[i]}}};
        alloc.reschedule_tracker.emplace().events = {{times[i], "before", "nowhere", kMost},
                                                     {times[5 - i], "", "", -5}};
      }
      w.run();
      EXPECT_EQ(w.error, "");
      for (const model::Evaluation& followup : w.created)  // a day ahead, or later; never a delay in the past
        if (!followup.wait_until.is_zero()) {
          EXPECT_GT(followup.wait_until.ns, SmallWorld::kNow);
        }
    }
}

TEST(InconsistentStates, CyclicChainsEnd) {  // R-RECON-122
  struct Case {
    const char* name;
    std::array<int, 4> next;  // successor of each of the four allocations; -1: none, 9: not stored
    const char* stopped;      // positions of stopped ones; the first one reconnects
  };
  for (const Case& c :
       {Case{"itself", {0, -1, -1, -1}, ""}, Case{"two", {1, 0, -1, -1}, "1"}, Case{"three", {1, 2, 0, -1}, "12"},
        Case{"into a circle", {1, 2, 1, -1}, "12"}, Case{"into a loop of one", {3, -1, -1, 3}, "3"},
        Case{"into a circle far off", {1, 2, 3, 2}, "123"}, Case{"nobody", {9, -1, -1, -1}, ""}}) {
    SCOPED_TRACE(c.name);
    SmallWorld w;
    w.add_node();
    const auto job = SmallWorld::job("service", 4);
    job->task_groups[0].disconnect.emplace().lost_after = 600 * base::kSecond;
    job->task_groups[0].disconnect->reconcile = "keep_original";
    w.store(job);
    for (std::size_t i = 0; i < 4; ++i) {
      model::Allocation& alloc = w.add(job, 0, i);
      if (c.next[i] >= 0) alloc.next_allocation = SmallWorld::id(2, static_cast<std::uint64_t>(c.next[i]) + 1);
      alloc.previous_allocation = SmallWorld::id(2, (i + 1) % 4 + 1);  // also a cycle
    }
    w.state.allocs[0].alloc_states = {{0, "unknown", base::Time{SmallWorld::kNow - 1}}};
    w.run();
    EXPECT_EQ(w.error, "");
    std::string stopped;
    for (std::size_t i = 0; i < 4; ++i)
      if (!status_of(w, i).empty()) stopped += std::to_string(i);
    EXPECT_EQ(stopped, c.stopped);
  }
}

/// A state with any faults, drawn from `random`.
SmallWorld nonsense(std::mt19937& random) {
  const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  const auto odd_id = [&](std::uint64_t kind) {
    return below(9) == 0 ? std::string(std::array{"", "x", "00000000-0000-0000-0000-000000000000"}[below(3)])
                         : SmallWorld::id(kind, below(8));
  };
  const auto odd_time = [&] {
    return std::array{std::numeric_limits<std::int64_t>::min(), std::int64_t{0}, SmallWorld::kNow - base::kSecond,
                      SmallWorld::kNow + base::kSecond, std::numeric_limits<std::int64_t>::max()}[below(5)];
  };
  const auto odd_count = [&] { return std::array<std::int64_t, 6>{-3, 0, 1, 2, 3, 7}[below(6)]; };
  SmallWorld w;
  for (std::uint32_t n = below(4); n > 0; --n) {
    model::Node& node = w.add_node(below(4) ? "dc1" : "");
    if (below(5) == 0) node.status = std::array{"down", "disconnected", "initializing", "asleep"}[below(4)];
    if (below(5) == 0) node.scheduling_eligibility = "ineligible";
    if (below(5) == 0) node.drain_strategy.emplace();
    if (below(8) == 0) node.node_resources->memory.memory_mb = odd_count();
    if (below(9) == 0) node.id = odd_id(1);
  }
  std::vector<std::shared_ptr<model::Job>> jobs;
  for (std::uint64_t v = 0; v < 3; ++v) {
    auto job = SmallWorld::job(kTypes[below(4)], odd_count(), v, {"web", below(2) ? "db" : "web"});
    for (model::TaskGroup& group : job->task_groups) {
      if (below(2)) {
        auto& update = group.update.emplace();
        update.max_parallel = odd_count(), update.canary = odd_count(), update.auto_promote = below(2) != 0;
      }
      if (below(2)) {
        auto& policy = group.reschedule_policy.emplace();
        policy.attempts = odd_count(), policy.delay = odd_time(), policy.interval = odd_time();
        policy.unlimited = below(2) != 0, policy.max_delay = odd_time();
        policy.delay_function = std::array{"", "constant", "exponential", "fibonacci"}[below(4)];
      }
      if (below(2)) {
        auto& disconnect = group.disconnect.emplace();
        disconnect.lost_after = odd_time(), disconnect.replace = below(2) != 0;
        disconnect.reconcile = std::array{"", "keep_original", "keep_replacement", "longest_running", "odd"}[below(5)];
        if (below(4) == 0) disconnect.stop_on_client_after = odd_time();
      }
      if (below(6) == 0) group.tasks.clear();
    }
    job->stop = below(6) == 0;
    job->create_index = 4 + below(2);
    if (below(5)) w.store(job);
    jobs.push_back(std::move(job));
  }
  w.eval.type = kTypes[below(4)];
  w.eval.annotate_plan = below(2) != 0;
  if (below(4) == 0) w.eval.wait_until = base::Time{odd_time()};
  for (std::uint32_t n = below(9); n > 0; --n) {
    model::Allocation& alloc =
        w.add(jobs[below(3)], below(5), below(5),
              std::array{"running", "pending", "failed", "complete", "lost", "unknown", "odd"}[below(7)],
              below(4) ? "web" : "db");
    if (below(4) == 0) alloc.desired_status = std::array{"stop", "evict", "", "odd"}[below(4)];
    if (below(9) == 0) alloc.name = std::array{"", "j.web[", "j.web[4294967296]"}[below(3)];
    if (below(12) == 0) alloc.job.reset();
    if (below(12) == 0) alloc.allocated_resources.reset();
    if (below(12) == 0) alloc.id = w.state.allocs[below(static_cast<std::uint32_t>(w.state.allocs.size()))].id;
    if (below(12) == 0) alloc.allocated_resources.emplace().tasks["t"].memory.memory_mb = -5;
    if (below(3) == 0) alloc.next_allocation = odd_id(2);
    if (below(3) == 0) alloc.previous_allocation = odd_id(2);
    if (below(4) == 0) alloc.deployment_id = odd_id(3);
    if (below(4) == 0) alloc.deployment_status.emplace().canary = below(2) != 0;
    if (below(4) == 0) alloc.followup_eval_id = below(2) ? w.eval.id : odd_id(9);
    if (below(4) == 0) alloc.alloc_states.push_back({0, below(2) ? "unknown" : "lost", base::Time{odd_time()}});
    if (below(4) == 0) alloc.desired_transition.migrate = true;
    if (below(6) == 0) alloc.desired_transition.reschedule = true;
    if (below(6) == 0) alloc.desired_transition.force_reschedule = true;
    if (below(4) == 0) alloc.reschedule_tracker.emplace().events = {{odd_time(), odd_id(2), odd_id(1), odd_time()}};
    alloc.modify_time = odd_time();
  }
  for (std::uint32_t n = below(4); n > 0; --n) {
    model::Deployment& d = w.add_deployment(
        jobs[below(3)], std::array{"running", "paused", "failed", "successful", "initializing", "odd"}[below(6)]);
    if (below(3) == 0) d.job_version = below(9);
    if (below(3) == 0) d.task_groups["web"];
    if (below(2)) {
      auto& state = d.task_groups[below(4) ? "web" : "none"].emplace();
      state.desired_canaries = odd_count(), state.desired_total = odd_count(), state.healthy_allocs = odd_count();
      state.promoted = below(3) == 0;
      state.placed_canaries = {odd_id(2), odd_id(2), odd_id(2)};
    }
    if (below(9) == 0) d.id = odd_id(3);
  }
  return w;
}

TEST(InconsistentStates, RandomNonsenseIsDecidedAndApplied) {
  constexpr std::uint32_t kSeed = 122;
  std::mt19937 random(kSeed);
  std::size_t plans = 0, stops = 0, placed = 0;
  constexpr std::uint64_t kRounds = testing::rounds(1500);
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    SCOPED_TRACE("seed " + std::to_string(kSeed) + " round " + std::to_string(round));
    SmallWorld w = nonsense(random);
    w.run(random() % 4 == 0 ? "NPN" : "");
    ASSERT_LE(w.plans.size(), 10U);  // every evaluation ends
    plans += w.plans.size(), stops += w.stops().size(), placed += w.placed().size();
    if (w.plans.empty()) continue;
    tables::StateStore store;
    store.load(w.state);
    for (plan::PlannedUpdate& update : w.result.plan.updates) {  // this store has no shape of the other one's groups
      if (!update.held || update.shape) continue;
      update.shape = std::make_shared<const tables::ResourceShape>(*update.held);
      update.held = update.shape.get();
    }
    plan::ApplyResult applied;
    plan::apply(store, w.result.plan, w.state.index + 1, false, applied);
    for (const std::string& problem : tables::check_tables(store)) ADD_FAILURE() << problem;
  }
  EXPECT_GT(plans, kRounds / 5);  // the inputs reach the tested code
  EXPECT_GT(stops, kRounds / 5);
  EXPECT_GT(placed, kRounds / 5);
}

}  // namespace
}  // namespace berth::sched
