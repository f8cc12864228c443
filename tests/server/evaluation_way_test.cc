// The path of an evaluation from enqueue to ack, case by case on clusters that can be counted by hand, with the same
// decisions by every executor. Nodes hold ten allocations of 100 MHz; the test sets the clock.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <random>
#include <thread>

#include "server/control.h"
#include "support/sanitized.h"
#include "tables/check.h"

namespace berth::server {
namespace {

using tables::NodeRow;

TEST(EvaluationWay, IsServedAndRemoved) {
  Control c(2);
  c.evaluate(c.job("a", "service", 3));
  c.run();
  EXPECT_EQ(c.allocs(), 3U);
  EXPECT_EQ(c.stats().served, 1U);
  EXPECT_EQ(c.stats().plans, 1U);
  EXPECT_EQ(c.server().store().index(), 12U);  // the job's, the plan's
  EXPECT_TRUE(c.server().broker().contents().known.empty());
  EXPECT_EQ(c.server().book().add(), broker::EvalRow{0});  // its row is free again
  EXPECT_EQ(c.server().store().find_eval(base::Uuid{1, 2}), tables::kNoRow);
  EXPECT_FALSE(c.server().next_deadline());
}

TEST(EvaluationWay, BlockedEvaluationsOfAClassRunAgainTogether) {  // R-CTRL-749, 814, 826
  Control c(1);
  c.evaluate(c.job("a", "service", 8));
  c.evaluate(c.job("b", "batch", 4));  // two fit
  c.run();
  EXPECT_EQ(c.allocs(), 10U);
  EXPECT_EQ(c.stats().blocked, 1U);
  EXPECT_EQ(c.server().blocked_count(), 1U);
  EXPECT_FALSE(c.server().next_deadline());
  EXPECT_EQ(c.server().end_allocs(0, 1, tables::Client::complete), 1U);
  c.clock.set(20 * kMs);
  EXPECT_EQ(c.server().end_allocs(0, 2, tables::Client::complete), 1U);  // the first had ended
  EXPECT_EQ(c.server().next_deadline(), 50 * kMs);
  c.run();
  EXPECT_EQ(c.allocs(), 10U);  // the tracker has not been notified yet
  ASSERT_TRUE(c.fire());
  EXPECT_EQ(c.unblocked(Cause::node_class), 1U);
  c.run();
  EXPECT_EQ(c.allocs(), 12U);
  EXPECT_EQ(c.stats().retried, 1U);
  EXPECT_EQ(c.stats().batches, 1U);
  EXPECT_EQ(c.server().blocked_count(), 0U);
}

TEST(EvaluationWay, IsBlockedAgainIfItFindsNoRoom) {  // R-SCHED-18, R-CTRL-408
  Control c(2);
  c.evaluate(c.job("a", "service", 20));
  c.evaluate(c.job("big", "service", 1, 900));
  c.run();
  EXPECT_EQ(c.server().blocked_count(), 1U);
  c.server().end_allocs(0, 1, tables::Client::complete);
  c.fire();
  c.run();
  EXPECT_EQ(c.stats().retried, 1U);
  EXPECT_EQ(c.stats().reblocked, 1U);
  EXPECT_EQ(c.stats().blocked, 1U);  // the same evaluation
  EXPECT_EQ(c.server().blocked_count(), 1U);
  // Its row is in use while it waits; those of the others are free.
  EXPECT_EQ(c.server().tracker().jobs().size(), 1U);
  EXPECT_FALSE(c.server().step());
}

TEST(EvaluationWay, StaysBlockedWhileOnlyIneligibleClassesChange) {  // R-CTRL-814
  Control c(1);
  const NodeRow other = c.add_node(7, "other", "down");
  auto job = c.job("a", "service", 12);
  job->constraints.push_back({"${node.class}", "std", "="});
  c.evaluate(job);
  c.run();
  EXPECT_EQ(c.allocs(), 10U);
  c.server().node_ready(other);
  EXPECT_EQ(c.unblocked(Cause::node_class), 1U);  // never seen: the node may help
  c.run();
  EXPECT_EQ(c.stats().reblocked, 1U);
  c.server().node_ready(other);
  EXPECT_EQ(c.unblocked(Cause::node_class), 1U);  // now the class is known to be ineligible
}

TEST(EvaluationWay, APartlyRefusedPlanIsDecidedAgainForTheRest) {  // R-CTRL-407, R-SCHED-7
  Control c(2);
  bool first = true;
  c.hooks.on_applying = [&](Lane& lane) {  // a node disappears between decision and check
    if (!std::exchange(first, false)) return;
    EXPECT_EQ(lane.attempts, 1U);
    c.server().store().set_node_state(0, tables::NodeStatus::down, true, false, c.server().store().index());
  };
  auto job = c.job("a", "service", 4);
  job->spreads.push_back({"${node.unique.id}", 100, {}});  // two on each node
  c.evaluate(job);
  c.run();
  EXPECT_EQ(c.stats().conflicts, 1U);
  EXPECT_EQ(c.stats().partial, 1U);
  EXPECT_EQ(c.stats().plans, 2U);
  EXPECT_EQ(c.allocs(), 4U);
  EXPECT_EQ(c.server().store().current().nodes.use[1].alloc_count, 4);
  EXPECT_EQ(c.stats().served, 1U);
}

struct Limit {
  const char* type;
  std::uint64_t attempts, blocked;
  broker::Queue queue;
};
class AttemptLimit : public ::testing::TestWithParam<Limit> {};

/// Every plan is refused completely: its nodes are down whenever it is checked.
TEST_P(AttemptLimit, DependsOnTheType) {  // R-SCHED-6, 17, 20
  Control c(2);
  broker::Queue queue = broker::Queue::failed;
  const auto all = [&](tables::NodeStatus status) {
    for (NodeRow node = 0; node < 2; ++node)
      c.server().store().set_node_state(node, status, true, false, c.server().store().index());
  };
  c.hooks.on_attempt = [&](Lane& lane) { queue = lane.record->type; };
  c.hooks.on_applying = [&](Lane&) { all(tables::NodeStatus::down); };
  c.hooks.on_applied = [&](Lane&) { all(tables::NodeStatus::ready); };
  c.evaluate(c.job("a", GetParam().type, 1));
  c.run();
  EXPECT_EQ(queue, GetParam().queue);
  EXPECT_EQ(c.stats().plans, GetParam().attempts);
  EXPECT_EQ(c.stats().conflicts, GetParam().attempts);
  EXPECT_EQ(c.stats().gave_up, 1U);
  EXPECT_EQ(c.stats().blocked, GetParam().blocked);
  EXPECT_EQ(c.allocs(), 0U);
  if (GetParam().blocked == 0) return;
  c.hooks.on_applying = c.hooks.on_applied = nullptr;
  EXPECT_EQ(c.server().next_deadline(), 60 * kSecond);  // R-CTRL-819
  EXPECT_FALSE(c.server().next_deadline(false));
  c.fire();
  EXPECT_EQ(c.unblocked(Cause::plan_attempts), 1U);
  c.run();
  EXPECT_EQ(c.allocs(), 1U);
  EXPECT_FALSE(c.fire());
}
INSTANTIATE_TEST_SUITE_P(Types, AttemptLimit,
                         ::testing::Values(Limit{"service", 5, 1, broker::Queue::service},
                                           Limit{"batch", 2, 1, broker::Queue::batch},
                                           Limit{"system", 5, 0, broker::Queue::system},
                                           Limit{"sysbatch", 2, 0, broker::Queue::sysbatch}),
                         [](const auto& test) { return std::string(test.param.type); });

TEST(EvaluationWay, AnUnblockSinceItsSnapshotLetsItRunAtOnce) {  // R-CTRL-805, 810
  Control c(1);
  const NodeRow full = c.add_node(9, "other", "down");
  bool first = true;
  c.evaluate(c.job("a", "service", 20));
  c.run();
  c.hooks.on_attempt = [&](Lane&) {
    if (std::exchange(first, false)) c.server().node_ready(full);
  };
  c.evaluate(c.job("big", "service", 1, 1100));
  c.server().step();
  EXPECT_EQ(c.unblocked(Cause::missed), 1U);
  c.run();
  EXPECT_EQ(c.stats().reblocked, 1U);
  EXPECT_EQ(c.unblocked(Cause::missed), 1U);  // it has seen the node by now
  EXPECT_EQ(c.server().blocked_count(), 1U);
}

TEST(EvaluationWay, FailingEvaluationsAreRetriedUntilTheDeliveryLimit) {  // R-SCHED-5, 21, R-CTRL-337, 341, 503
  Control c(1);
  const auto job = c.job("a", "service", 1);
  c.hooks.on_attempt = [&](Lane&) { c.server().store().upsert_job(job, true); };
  c.hooks.on_applying = [&](Lane& lane) { c.server().store().begin_commit().purge_job(lane.record->job); };
  c.evaluate(job);
  c.run();
  EXPECT_EQ(c.stats().errors, 1U);
  for (int i = 0; i < 20 && c.hooks.reasons.empty(); ++i) {
    ASSERT_TRUE(c.fire());
    c.run();
  }
  EXPECT_EQ(c.stats().errors, 3U);
  EXPECT_EQ(c.stats().failed, 1U);
  EXPECT_EQ(c.hooks.reasons, std::vector<std::string>{R"(job "a" in namespace "default" not found)"});
  EXPECT_EQ(c.clock.now_ns(), 21 * kSecond);
  EXPECT_EQ(c.server().lost(), 0);
  EXPECT_FALSE(c.fire());  // the job is gone: no follow-up
}

TEST(EvaluationWay, AFinallyFailedEvaluationGetsAFollowUp) {  // R-SCHED-21
  Control c(1);
  const auto job = c.job("a", "service", 1);
  c.hooks.on_applying = [&](Lane& lane) { c.server().store().begin_commit().purge_job(lane.record->job); };
  c.hooks.on_attempt = [&](Lane&) { c.server().store().upsert_job(job, true); };
  c.evaluate(job);
  c.run();
  c.fire(), c.run();
  c.hooks.on_applying = [&](Lane& lane) {
    c.server().store().begin_commit().purge_job(lane.record->job);
    throw std::runtime_error("the third time");
  };
  c.fire();
  c.server().step();
  c.server().store().upsert_job(job, true);  // the job is registered again before the evaluation fails
  c.hooks.on_applying = nullptr;
  c.run();
  EXPECT_EQ(c.hooks.reasons, std::vector<std::string>{"failed to process eval: the third time"});
  const std::int64_t failed_ns = c.clock.now_ns();
  while (c.allocs() == 0 && c.fire()) c.run();
  EXPECT_EQ(c.allocs(), 1U);
  EXPECT_GE(c.clock.now_ns() - failed_ns, 60 * kSecond);
  EXPECT_LT(c.clock.now_ns() - failed_ns, 360 * kSecond);
}

TEST(EvaluationWay, BlockedEvaluationsOfAServedJobAreCancelled) {  // R-CTRL-733, 820
  Control c(1);
  c.evaluate(c.job("a", "service", 8));
  c.evaluate(c.job("b", "service", 4));
  c.run();
  EXPECT_EQ(c.server().blocked_count(), 1U);
  auto less = c.job("b", "service", 2);
  less->version = 1;
  c.evaluate(less);
  c.run();
  EXPECT_EQ(c.server().blocked_count(), 0U);
  c.evaluate(c.job("c", "service", 1));
  c.run();
  EXPECT_EQ(c.server().blocked_count(), 1U);
}

/// 120 jobs of three types on 40 nodes, some without room, some of them served after departures.
std::vector<NodeRow> decisions(Execution execution, std::uint32_t workers, Stats& stats) {
  Config config;
  config.execution = execution;
  config.workers = workers;
  Control c(40, config);
  Server& server = c.server();
  server.start();
  static constexpr const char* kTypes[] = {"service", "batch", "service", "sysbatch"};
  std::vector<std::shared_ptr<model::Job>> jobs;
  for (int i = 0; i < 120; ++i)
    jobs.push_back(c.job("job-" + std::to_string(i), kTypes[i % 30 == 3 ? 3 : i % 3], 1 + i % 9));
  const auto eval_of = [&](std::size_t i, tables::JobKeyRow key) {
    return NewEval{.id = {i + 1, 2}, .job = key, .tag = i + 1};
  };
  std::size_t announced = 0;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    for (announced = std::max(announced, i); announced < jobs.size() && server.wants_more(); ++announced)
      server.expect(eval_of(announced, server.register_job(jobs[announced])));
    const tables::JobKeyRow key = server.register_job(jobs[i]);
    server.store().set_index(server.store().index() + 1);
    EXPECT_TRUE(server.evaluate(eval_of(i, key)));
    c.run();
    c.clock.set(c.clock.now_ns() + 10 * kMs);
    if (i % 20 == 19) server.end_allocs(static_cast<tables::AllocRow>(i), 15, tables::Client::complete);
    while (server.next_deadline() && *server.next_deadline() <= c.clock.now_ns()) c.fire(), c.run();
  }
  while (c.fire()) c.run();
  server.stop();
  stats = server.stats();
  EXPECT_EQ(server.lost(), 0);
  for (const std::string& problem : tables::check_tables(server.store())) ADD_FAILURE() << problem;
  return c.hooks.nodes;
}

TEST(Executors, DecideAheadLikeInline) {
  Stats inline_, ahead;
  const std::vector<NodeRow> expected = decisions(Execution::inline_, 1, inline_);
  EXPECT_GT(expected.size(), 300U);
  EXPECT_GT(inline_.blocked, 10U);
  EXPECT_GT(inline_.retried, 3U);
  for (const std::uint32_t workers : {1U, 2U, 3U, 8U}) {
    if (testing::kSanitized && workers % 2 == 1) continue;  // a run takes seconds there
    EXPECT_EQ(decisions(Execution::ahead, workers, ahead), expected) << workers;
    EXPECT_EQ(ahead.unblocked, inline_.unblocked);
    EXPECT_EQ(ahead.served, inline_.served);
    EXPECT_EQ(ahead.plans, inline_.plans);
    EXPECT_GT(ahead.ahead_used + ahead.ahead_redone + ahead.ahead_inline, 0U);
  }
}

TEST(Pace, TriesBothModesAndKeepsTheFaster) {
  for (const bool ahead_is_faster : {true, false}) {
    Pace pace;
    std::uint64_t ahead = 0;
    constexpr std::uint64_t kEvals = 100'000;
    for (std::uint64_t i = 0; i < kEvals; ++i) {
      ahead += pace.is_ahead();
      pace.count(pace.is_ahead() == ahead_is_faster ? 50 : 100);
    }
    EXPECT_GT(ahead_is_faster ? ahead : kEvals - ahead, kEvals * 98 / 100);
  }
  Pace pace;  // the choice of the faster way may change
  for (int i = 0; i < 50'000; ++i) pace.count(pace.is_ahead() ? 50 : 100);
  for (int i = 0; i < 50'000; ++i) pace.count(pace.is_ahead() ? 100 : 50);
  EXPECT_FALSE(pace.is_ahead());
}

/// Fires timers until wait_idle() returns true. Does not call it again to confirm that: a worker may poll the queue
/// once more in between and find nothing.
void settle(Control& c) {
  for (int i = 0; i < 4000; ++i) {
    if (c.server().wait_idle(5 * kMs)) return;
    c.clock.set(c.clock.now_ns() + kSecond);
    c.server().tick();
  }
  FAIL() << "something stays under way";
}

class FreeWorkers : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(FreeWorkers, PlaceEverythingOnceDespiteConflicts) {  // more workers than cores included
  Config config;
  config.execution = Execution::free;
  config.workers = GetParam();
  config.options.quirks = model::Quirks::none();
  Control c(30, config);
  Server& server = c.server();
  server.start();
  for (int i = 0; i < 150; ++i) {  // 300 allocations: exactly full at the end
    const Server::Turn turn(server);
    c.evaluate(c.job("job-" + std::to_string(i), "service", 2));
  }
  settle(c);
  server.stop();
  const Stats stats = server.stats();
  EXPECT_EQ(c.allocs(), 300U);
  EXPECT_EQ(stats.served, 150 + stats.retried);
  EXPECT_EQ(stats.errors, 0U);
  EXPECT_EQ(server.blocked_count(), 0U);
  EXPECT_EQ(server.lost(), 0);
  EXPECT_EQ(stats.busy_ns.size(), GetParam());
  if (GetParam() == 1) {
    EXPECT_EQ(stats.conflicts, 0U);
  }
  for (const std::string& problem : tables::check_tables(server.store())) ADD_FAILURE() << problem;
}

TEST_P(FreeWorkers, LoseNothingWhenStopped) {
  Config config;
  config.execution = Execution::free;
  config.workers = GetParam();
  config.options.quirks = model::Quirks::none();
  Control c(30, config);
  Server& server = c.server();
  for (int round = 0; round < 5; ++round) {
    server.start();
    for (int i = 0; i < 30; ++i) {
      const Server::Turn turn(server);
      c.evaluate(c.job("job-" + std::to_string(30 * round + i), "service", 2));
    }
    server.stop();  // some evaluations were not taken by a worker
    EXPECT_EQ(server.lost(), 0);
  }
  server.start();
  settle(c);
  server.stop();
  EXPECT_EQ(c.allocs(), 300U);
  EXPECT_EQ(server.lost(), 0);
  EXPECT_TRUE(server.broker().contents().known.empty());
}

/// Jobs of several priorities and versions, ends, nodes that go and return, evictions. Debug builds compare each view
/// with the state.
TEST_P(FreeWorkers, DecideOnUpToDateViews) {
  Config config;
  config.execution = Execution::free;
  config.workers = GetParam();
  Control c(40, config);
  Server& server = c.server();
  model::SchedulerConfiguration preemption;
  preemption.preemption_config.service_scheduler_enabled = true;
  preemption.preemption_config.batch_scheduler_enabled = true;
  server.store().set_scheduler_config(preemption);
  std::mt19937 random(GetParam());
  server.start();
  for (int i = 0; i < 400; ++i) {
    const Server::Turn turn(server);
    const NodeRow node(random() % 40);
    const auto allocs = static_cast<tables::AllocRow>(c.allocs());
    switch (random() % 6) {
      case 0:
        if (allocs > 8)
          server.end_allocs(static_cast<tables::AllocRow>(random() % (allocs - 8)), 8, tables::Client::complete);
        break;
      case 1:
        server.store().set_node_state(node, tables::NodeStatus::down, true, false, server.store().index() + 1);
        break;
      case 2:
        server.node_ready(node);
        break;
      default: {
        auto job = c.job("job-" + std::to_string(random() % 60), random() % 4 == 0 ? "batch" : "service",
                         static_cast<std::int64_t>(1 + random() % 6));
        job->priority = 20 + 20 * (random() % 4);
        job->version = static_cast<std::uint64_t>(i);
        c.evaluate(job);
      }
    }
  }
  settle(c);
  server.stop();
  EXPECT_EQ(server.lost(), 0);
  EXPECT_EQ(server.stats().errors, 0U);
  EXPECT_EQ(server.store().use_chunks_copied(), 0U);
  for (const std::string& problem : tables::check_tables(server.store())) ADD_FAILURE() << problem;
}

TEST_P(FreeWorkers, HaveTheirViewsBeforeTheFirstEvaluation) {
  Config config;
  config.execution = Execution::free;
  config.workers = GetParam();
  Control c(20, config);
  c.server().start();
  c.server().stop();
  EXPECT_GE(c.server().stats().view_columns, GetParam()) << "each worker copied whole columns without being asked";
}

/// A wake-up costs more than a small evaluation: the driver sleeps until the broker has nothing ready.
TEST_P(FreeWorkers, WakeTheDriverOnceNothingIsReady) {
  Config config;
  config.execution = Execution::free;
  config.workers = GetParam();
  config.options.quirks = model::Quirks::none();
  Control c(100, config);
  Server& server = c.server();
  server.start();
  {
    const Server::Turn turn(server);
    for (int i = 0; i < 400; ++i) c.evaluate(c.job("job-" + std::to_string(i), "service", 2));
  }
  ASSERT_TRUE(server.wait_idle(60 * kSecond));
  server.stop();
  EXPECT_EQ(c.allocs(), 800U);
  EXPECT_LE(server.stats().driver_woken, 20U);  // 400 if it were after each evaluation
}
INSTANTIATE_TEST_SUITE_P(Workers, FreeWorkers, ::testing::Values(1U, 2U, 4U, 8U));

/// A driver that found a worker busy waits for its end, whether or not the worker finds an evaluation.
TEST(FreeWorkers, WakeTheDriverWhenTheyFindNothing) {
  struct SlowClock final : Clock {
    mutable std::atomic<int> asked{0};
    [[nodiscard]] std::int64_t now_ns() const override {  // workers call it while they poll
      ++asked;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      return 0;
    }
  } clock;
  Config config;
  config.execution = Execution::free;
  config.workers = 2;
  Server server(config, clock);
  const int asked = clock.asked;
  server.start();
  while (clock.asked == asked) std::this_thread::yield();
  const auto began = std::chrono::steady_clock::now();
  EXPECT_TRUE(server.wait_idle(20 * kSecond));
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(10));
  server.stop();
}

/// The nack timer fires while a worker decides: what it decided counts for nothing, and the evaluation comes again.
void expect_the_second_delivery_alone(const std::shared_ptr<model::Job>& job, Control& c) {
  Server& server = c.server();
  std::atomic<int> attempts{0};
  c.hooks.on_attempt = [&](Lane&) {
    if (attempts.fetch_add(1) > 0) return;
    c.clock.set(c.clock.now_ns() + 61 * kSecond);  // R-CTRL-301
    server.advance();
    c.clock.set(c.clock.now_ns() + 2 * kSecond);  // R-CTRL-303
    server.advance();
  };
  server.start();
  {
    const Server::Turn turn(server);
    c.evaluate(job);
  }
  ASSERT_TRUE(server.wait_idle(60 * kSecond));
  server.stop();
  EXPECT_EQ(attempts, 2);
  EXPECT_EQ(server.stats().served, 1U);
  EXPECT_EQ(server.stats().errors, 1U);
  EXPECT_EQ(server.lost(), 0);
}

TEST(FreeWorkers, WriteNothingAfterTheirNackTimer) {  // R-CTRL-233, 234, 504
  for (const std::uint32_t workers : {1U, 2U}) {
    Config config;
    config.execution = Execution::free, config.workers = workers, config.retain = true;
    Control placed(1, config);
    expect_the_second_delivery_alone(placed.job("fits", "service", 2), placed);
    EXPECT_EQ(placed.allocs(), 2U);

    Control blocked(1, config);
    expect_the_second_delivery_alone(blocked.job("too-large", "service", 1, 2000), blocked);
    EXPECT_EQ(blocked.stats().blocked, 1U);
    EXPECT_EQ(blocked.server().store().current().evals.size(), 2U);  // it and its blocked one
  }
}

TEST(EvaluationWay, IsCancelledIfTheBrokerIsFull) {
  Config config;
  config.retain = true;
  Control c(1, config, 4096, 2);
  c.evaluate(c.job("a", "service", 1));
  c.evaluate(c.job("b", "service", 1));
  const tables::JobKeyRow third = c.server().register_job(c.job("c", "service", 1));
  EXPECT_FALSE(c.server().evaluate({.id = {9, 2}, .job = third}));
  const tables::EvalTable& evals = c.server().store().current().evals;
  const tables::StoredEvalRow row = c.server().store().find_eval(base::Uuid{9, 2});
  ASSERT_NE(row, tables::kNoRow);
  EXPECT_EQ(evals.status[row], tables::kEvalCanceled);
  c.run();
  EXPECT_EQ(c.allocs(), 2U);
}

/// The hooks of an entry bring more evaluations than there are rows: those beyond are cancelled, with the reason.
TEST(EvaluationWay, IsCancelledIfAnEntryExceedsTheCapacity) {
  Config config;
  config.retain = true;
  Control c(1, config, 2);
  Server& server = c.server();
  std::vector<model::Evaluation> evals(3);
  for (std::size_t i = 0; i < evals.size(); ++i) {
    const std::shared_ptr<model::Job> job = c.job("job-" + std::to_string(i), "service", 1);
    server.register_job(job);
    evals[i].id = base::to_text(base::Uuid{i + 1, 2});
    evals[i].namespace_ = "default", evals[i].job_id = job->id, evals[i].type = "service";
    evals[i].triggered_by = "job-register", evals[i].status = "pending", evals[i].priority = 50;
  }
  fsm::Hooks hooks;
  ASSERT_EQ(server.log().apply(server.store().index() + 1, evals, hooks), "");
  server.take(hooks);
  const tables::EvalTable& table = server.store().current().evals;
  const tables::StoredEvalRow last = server.store().find_eval(base::Uuid{3, 2});
  EXPECT_EQ(table.status[last], tables::kEvalCanceled);
  ASSERT_TRUE(table.more[last]);
  EXPECT_EQ(table.more[last]->status_description, "the server knows as many evaluations as it can");
  c.run();
  EXPECT_EQ(c.allocs(), 2U);
}

TEST(FreeWorkers, LoseNothingOnExceptions) {
  Config config;
  config.execution = Execution::free;
  config.workers = 3;
  config.follow_up_failed = false;
  Control c(30, config);
  Server& server = c.server();
  std::atomic<int> thrown{0};
  // The evaluation of job 3 fails once, that of job 5 always.
  c.hooks.on_attempt = [&](Lane& lane) {
    if ((lane.record->tag == 3 && thrown.fetch_add(1) == 0) || lane.record->tag == 5)
      throw std::runtime_error("thrown");
  };
  server.start();
  for (int i = 0; i < 20; ++i) {
    const Server::Turn turn(server);
    c.evaluate(c.job("job-" + std::to_string(i), "service", 1));
  }
  settle(c);
  server.stop();
  EXPECT_EQ(c.allocs(), 19U);
  EXPECT_EQ(server.stats().errors, 1U + 3U);
  EXPECT_EQ(c.hooks.reasons, std::vector<std::string>{"failed to process eval: thrown"});
  EXPECT_EQ(server.lost(), 0);
}

TEST(FreeWorkers, ServeOneEvaluationOfAJobAtATimeAndCancelTheRest) {  // R-CTRL-333, 336
  Config config;
  config.execution = Execution::free;
  config.workers = 2;
  Control c(30, config);
  Server& server = c.server();
  server.start();
  const auto job = c.job("a", "service", 3);
  {
    const Server::Turn turn(server);
    for (int i = 0; i < 300; ++i) c.evaluate(job);
  }
  for (int i = 0; i < 4000 && !server.wait_idle(5 * kMs); ++i) server.tick();
  server.tick();
  server.stop();
  const broker::Totals totals = server.broker().totals();
  EXPECT_EQ(totals.accepted, 300U);
  EXPECT_EQ(totals.acked + totals.cancelled, 300U);
  EXPECT_EQ(server.stats().served, totals.acked);
  EXPECT_EQ(server.stats().cancelled, totals.cancelled);
  EXPECT_GT(totals.cancelled, 0U);
  EXPECT_EQ(server.lost(), 0);  // their IDs stay known to the broker (R-CTRL-335), but are not counted twice
  EXPECT_EQ(c.allocs(), 3U);
}

/// Room appears and disappears: some evaluations wait, some are duplicates, some jobs change.
void crowd(Control& c) {
  Server& server = c.server();
  for (int i = 0; i < 40; ++i) {
    c.evaluate(c.job("job-" + std::to_string(i % 25), i % 3 == 0 ? "batch" : "service", 1 + i % 7));
    c.clock.set(c.clock.now_ns() + kSecond);
    c.run();
    if (i % 4 != 3) continue;
    server.end_allocs(static_cast<tables::AllocRow>(i), 3, tables::Client::complete);
    while (c.fire()) c.run();
  }
}

TEST(Retention, NoneFreesTheRowsOfFinishedEvaluations) {
  Control c(6);
  crowd(c);
  const tables::EvalTable& evals = c.server().store().current().evals;
  std::size_t left = 0;
  for (tables::StoredEvalRow row = 0; row < evals.size(); ++row) left += evals.exists(row);
  EXPECT_GT(c.stats().served, 40U);
  EXPECT_GT(left, 2U);
  EXPECT_EQ(left, c.server().blocked_count());
  EXPECT_LE(evals.size(), left + 4) << "rows are used again";
}

TEST(Retention, ChangesNoDecision) {  // the order of nodes does not depend on log indexes here
  std::vector<NodeRow> nodes[2];
  Stats stats[2];
  for (const bool retain : {false, true}) {
    Config config;
    config.order = rank::OrderProvider::identity;
    config.retain = retain;
    Control c(6, config);
    crowd(c);
    nodes[retain] = c.hooks.nodes, stats[retain] = c.stats();
    const tables::EvalTable& evals = c.server().store().current().evals;
    if (retain) {
      EXPECT_GE(evals.size(), 40U);
    }
    EXPECT_TRUE(tables::check_tables(c.server().store()).empty());
    EXPECT_TRUE(c.server().store().check_history().empty());
  }
  EXPECT_EQ(nodes[0], nodes[1]);
  EXPECT_EQ(stats[0].served, stats[1].served);
  EXPECT_EQ(stats[0].retried, stats[1].retried);
  EXPECT_EQ(stats[0].blocked, stats[1].blocked);
  EXPECT_EQ(stats[0].duplicates, stats[1].duplicates);
  EXPECT_EQ(stats[0].unblocked, stats[1].unblocked);
  EXPECT_GT(stats[0].retried, 0U);
}

TEST(Retention, KeepsEveryEvaluationInTheState) {  // R-CTRL-202, 224, 733
  Config config;
  config.retain = true;
  Control c(1, config);
  c.clock.set(1'700'000'000 * kSecond);
  Server& server = c.server();
  model::ClusterState state;
  state.index = 10;
  state.namespaces.emplace_back().name = "default";
  const auto answer = server.requests().register_job({.job = c.job("a", "service", 12)}, c.clock.now_ns());
  ASSERT_EQ(answer.error, "");
  server.take(answer.hooks);
  c.run();
  EXPECT_EQ(c.allocs(), 10U);
  const auto eval = server.log().eval(answer.eval_id);
  ASSERT_TRUE(eval);
  EXPECT_EQ(eval->status, "complete");
  ASSERT_FALSE(eval->blocked_eval.empty());
  const auto blocked = server.log().eval(eval->blocked_eval);
  ASSERT_TRUE(blocked);
  EXPECT_EQ(blocked->status, "blocked");
  EXPECT_EQ(blocked->triggered_by, "queued-allocs");
  EXPECT_EQ(blocked->previous_eval, eval->id);
  EXPECT_EQ(server.blocked_count(), 1U);
}

}  // namespace
}  // namespace berth::server
