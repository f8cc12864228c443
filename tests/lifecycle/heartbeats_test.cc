// Heartbeat timers: TTLs by rate and jitter, the heap of timers, and the effect of missed heartbeats (R-CTRL-910 to
// 921).
#include "lifecycle/heartbeats.h"

#include <random>

#include "lifecycle/small_cluster.h"
#include "model/job.h"
#include "support/heap_count.h"

namespace berth::lifecycle {
namespace {

TEST(HeartbeatTtl, IsRaisedFromFiveHundredNodesOn) {  // example 5 of section 18
  const HeartbeatConfig config;
  EXPECT_EQ(base_ttl_ns(config, 499), 10 * kS);
  EXPECT_EQ(base_ttl_ns(config, 500), 10 * kS);
  EXPECT_EQ(base_ttl_ns(config, 501), 10'020'000'000);
  EXPECT_EQ(base_ttl_ns(config, 3000), 60 * kS);
  EXPECT_EQ(base_ttl_ns(config, 10'000), 200 * kS);
}

TEST(HeartbeatTtl, IsTheMinimumWithoutARate) {
  HeartbeatConfig config;
  config.max_per_second = 1.0 / 86400;
  EXPECT_EQ(base_ttl_ns(config, 1'000'000), 10 * kS);
}

TEST(HeartbeatTtl, JitterStaysBelowTheBase) {
  Heartbeats heartbeats({}, 7);
  for (int i = 0; i < 1000; ++i) {
    const std::int64_t ttl = heartbeats.reset(3, 0);
    EXPECT_GE(ttl, 10 * kS);
    EXPECT_LT(ttl, 20 * kS);
    EXPECT_LE(heartbeats.next_deadline(), ttl + 10 * kS);  // grace (R-CTRL-912)
    EXPECT_FALSE(heartbeats.take_missed(ttl + 10 * kS - 1));
    EXPECT_EQ(heartbeats.next_deadline(), ttl + 10 * kS);
  }
  EXPECT_EQ(heartbeats.size(), 1u);
}

template <class T>
void agrees_with_a_sorted_list(std::uint32_t rows) {
  SCOPED_TRACE(rows);
  std::mt19937_64 random(rows);
  T timers;
  std::map<std::uint32_t, std::int64_t> expected;
  for (int step = 0; step < 10'000; ++step) {
    const auto row = static_cast<std::uint32_t>(random() % rows);
    const auto at = static_cast<std::int64_t>(random() % 50);
    switch (random() % 4) {
      case 0:
        timers.clear(row), expected.erase(row);
        break;
      case 1: {
        const auto due = timers.take_due(at);
        const auto first = std::min_element(expected.begin(), expected.end(), [](const auto& a, const auto& b) {
          return a.second != b.second ? a.second < b.second : a.first < b.first;
        });
        const bool any = first != expected.end() && first->second <= at;
        ASSERT_EQ(due.has_value(), any) << step;
        if (!any) break;
        ASSERT_EQ(*due, first->first) << step;
        expected.erase(first);
        break;
      }
      default:
        timers.set(row, at), expected[row] = at;
    }
    ASSERT_EQ(timers.size(), expected.size());
    ASSERT_EQ(timers.has(row), expected.contains(row));
    if (random() % 500 == 0) timers.clear_all(), expected.clear();
  }
}

TEST(HeartbeatTimers, AgreeWithASortedListOverRandomOperations) {
  for (const std::uint32_t rows : {1, 63, 64, 65, 97, 4096, 4097, 300'000}) {
    agrees_with_a_sorted_list<Timers>(rows);
    agrees_with_a_sorted_list<HeartbeatTimers>(rows);
  }
}

TEST(HeartbeatTimers, ATimerWithoutEndIsListed) {
  HeartbeatTimers timers;
  EXPECT_FALSE(timers.has(3));
  timers.set(3, kNever);
  EXPECT_TRUE(timers.has(3));
  EXPECT_EQ(timers.size(), 1u);
  EXPECT_FALSE(timers.take_due(kNever - 2));
}

TEST(HeartbeatTimers, MovedTimersFireInTheOrderOfTheirTimes) {
  std::mt19937_64 random(12);
  HeartbeatTimers moved;
  Timers timers;
  std::int64_t now = 1'700'000'000 * kS;
  for (int step = 0; step < 50'000; ++step) {
    const auto row = static_cast<std::uint32_t>(random() % (step < 25'000 ? 97 : 5000));
    now += static_cast<std::int64_t>(random() % (step % 1000 == 0 ? 2000 * kS : kS / 10));
    const auto ahead = static_cast<std::int64_t>(random() % (random() % 50 == 0 ? 3000 * kS : 20 * kS));
    switch (random() % 8) {
      case 0:
        moved.clear(row), timers.clear(row);
        break;
      case 1:
        if (random() % 100 != 0) break;
        moved.clear_all(), timers.clear_all();
        break;
      case 2:
        for (auto due = timers.take_due(now); due; due = timers.take_due(now)) {
          ASSERT_EQ(moved.take_due(now), due);
        }
        ASSERT_FALSE(moved.take_due(now));
        ASSERT_GT(moved.next(), now);
        break;
      default:
        moved.set(row, now + ahead / kS * kS), timers.set(row, now + ahead / kS * kS);
    }
    if (random() % 2 == 0) {
      ASSERT_LE(moved.next(), timers.next()) << step;
    }
    ASSERT_EQ(moved.size(), timers.size());
    ASSERT_EQ(moved.has(row), timers.has(row));
  }
}

TEST(Heartbeat, FromAReadyNodeOnlyResetsItsTimer) {
  SmallCluster cluster;
  cluster.add_nodes(64);
  cluster.start();
  for (std::uint64_t n = 1; n <= 64; ++n) cluster.watchers().nodes().heartbeat(cluster.row(n), kS, cluster.out);
  const std::uint64_t index = cluster.log().next_index(), allocations = testing::heap_allocations.load();
  for (int round = 2; round < 100; ++round)
    for (tables::NodeRow row = 0; row < 64; ++row) cluster.watchers().nodes().heartbeat(row, round * kS, cluster.out);
  EXPECT_EQ(testing::heap_allocations.load(), allocations);
  EXPECT_EQ(cluster.log().next_index(), index);
  EXPECT_EQ(cluster.watchers().nodes().heartbeats().size(), 64u);
}

TEST(Heartbeat, AMissedHeartbeatMarksTheNodeDownAndEvaluatesItsJobs) {  // R-CTRL-918, 929, 951
  SmallCluster cluster;
  cluster.add_nodes(2);
  cluster.add_job("j", "service", 1);
  cluster.add_alloc(1, 0, 1);
  cluster.start();
  cluster.run_until(299);
  EXPECT_TRUE(cluster.written().empty());
  cluster.watchers().nodes().heartbeat(cluster.row(2), 299 * kS, cluster.out);
  cluster.run_until(305);  // a new leader waits for 300 s (R-CTRL-917)
  EXPECT_EQ(cluster.written(), (std::vector<std::string>{"300000 node_status", "300000 eval_update"}));
  EXPECT_EQ(cluster.log().node(node_id(1))->status, "down");
  EXPECT_EQ(cluster.log().node(node_id(2))->status, "ready");
  EXPECT_FALSE(cluster.watchers().nodes().heartbeats().has(cluster.row(1)));  // R-CTRL-921
  ASSERT_EQ(cluster.out.hooks.size(), 1u);
  const auto eval = cluster.store().current().eval(cluster.out.hooks[0].eval);
  EXPECT_EQ(eval->triggered_by, "node-update");
  EXPECT_EQ(eval->job_id, "j");
}

TEST(Heartbeat, AMissedHeartbeatDisconnectsANodeWhoseAllocationsMayReconnect) {  // R-CTRL-919, 920, 924, 922
  SmallCluster cluster;
  cluster.add_nodes(1);
  cluster.add_job("j", "service", 1).task_groups[0].disconnect.emplace().lost_after = 3600 * kS;
  cluster.add_alloc(1, 0, 1);
  cluster.start();
  cluster.run_until(301);
  EXPECT_EQ(cluster.log().node(node_id(1))->status, "disconnected");
  EXPECT_TRUE(cluster.watchers().nodes().heartbeats().has(cluster.row(1)));
  Nodes& nodes = cluster.watchers().nodes();
  nodes.heartbeat(cluster.row(1), 302 * kS, cluster.out);
  EXPECT_EQ(cluster.log().node(node_id(1))->status, "initializing");
  nodes.heartbeat(cluster.row(1), 303 * kS, cluster.out);
  EXPECT_EQ(cluster.log().node(node_id(1))->status, "initializing");  // it has not reported yet
  cluster.report(1, 1, "running");
  nodes.heartbeat(cluster.row(1), 304 * kS, cluster.out);
  EXPECT_EQ(cluster.log().node(node_id(1))->status, "ready");
}

TEST(NodeRequests, RegistrationKeepsWhatTheServerDecided) {  // R-CTRL-902, 903, 908
  SmallCluster cluster;
  cluster.add_nodes(1);
  cluster.start();
  Nodes& nodes = cluster.watchers().nodes();
  EXPECT_EQ(nodes.requests().set_eligibility(node_id(1), "ineligible", kS).error, "");
  model::Node again = *cluster.log().node(node_id(1));
  again.scheduling_eligibility = "eligible", again.status = "down";
  again.node_resources.emplace().memory.memory_mb = 512;
  const fsm::NodeAnswer answer = nodes.register_node(again, 2 * kS);
  EXPECT_TRUE(answer.eval_ids.empty());  // memory is not compared
  const auto stored = cluster.log().node(node_id(1));
  EXPECT_EQ(stored->scheduling_eligibility, "ineligible");
  EXPECT_EQ(stored->status, "ready");
  EXPECT_EQ(stored->node_resources->memory.memory_mb, 512);
  again.secret_id = "another";
  EXPECT_EQ(nodes.register_node(again, 3 * kS).error, "node secret ID does not match. Not registering node.");
}

TEST(NodeRequests, AtMostTenEventsAreKept) {  // R-CTRL-905
  SmallCluster cluster;
  cluster.add_nodes(1);
  cluster.start();
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(cluster.watchers().nodes().requests().set_eligibility(node_id(1), "ineligible", i * kS).error, "");
    EXPECT_EQ(cluster.watchers().nodes().requests().set_eligibility(node_id(1), "eligible", i * kS).error, "");
  }
  EXPECT_EQ(cluster.log().node(node_id(1))->events.size(), 10u);
}

}  // namespace
}  // namespace berth::lifecycle
