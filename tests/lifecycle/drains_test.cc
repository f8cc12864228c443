// Drains: deadlines that end together, one step of a job, and whole drains (section 10 of part 07).
#include <gtest/gtest.h>

#include "base/json.h"
#include "lifecycle/job_drain.h"
#include "lifecycle/small_cluster.h"
#include "model/job.h"

namespace berth::lifecycle {
namespace {

TEST(DrainDeadlines, DeadlinesLessThanFiveSecondsApartEndTogether) {  // example 8 of section 18
  DrainDeadlines deadlines;
  for (const auto& [node, at] : {std::pair<tables::NodeRow, int>{1, 10}, {2, 14}, {3, 15}, {4, 16}})
    deadlines.watch(node, at * kS);
  std::vector<tables::NodeRow> due;
  EXPECT_EQ(deadlines.next_deadline(), 14 * kS);
  EXPECT_FALSE(deadlines.take_due(14 * kS - 1, due));
  ASSERT_TRUE(deadlines.take_due(14 * kS, due));
  EXPECT_EQ(due, (std::vector<tables::NodeRow>{1, 2}));
  EXPECT_EQ(deadlines.next_deadline(), 16 * kS);
  deadlines.remove(4);
  EXPECT_EQ(deadlines.next_deadline(), 15 * kS);
}

TEST(DrainDeadlines, ForcedDrainsAreDueAtOnceAndAlone) {  // R-CTRL-1041
  DrainDeadlines deadlines;
  std::vector<tables::NodeRow> due;
  deadlines.watch(1, kS);
  deadlines.watch_forced(2);
  ASSERT_TRUE(deadlines.take_due(0, due));
  EXPECT_EQ(due, std::vector<tables::NodeRow>{2});
  EXPECT_FALSE(deadlines.take_due(0, due));
}

/// Example 7 of section 18: count 10, max_parallel 2, ten healthy allocations on the draining node.
class DrainStep : public ::testing::Test {
 protected:
  void place(std::uint64_t allocs) {
    cluster.add_nodes(2);
    cluster.state.nodes[0].drain_strategy.emplace();
    cluster.state.nodes[0].scheduling_eligibility = "ineligible";
    cluster.add_job("j", "service", 10).task_groups[0].migrate->max_parallel = max_parallel;
    for (std::uint64_t n = 1; n <= allocs; ++n) cluster.add_alloc(n, 0, 1).deployment_status.emplace().healthy = true;
  }
  JobDrain look() {
    tables::StateStore store;
    store.load(cluster.state);
    JobDrain found;
    look_at_job(store.current(), *cluster.state.allocs[0].job, store.find_job_key("default", "j"), 1, model::Quirks(),
                found);
    return found;
  }
  SmallCluster cluster;
  std::int64_t max_parallel = 2;
};

TEST_F(DrainStep, MovesMaxParallelAtOnce) {
  place(10);
  EXPECT_EQ(look().drain.size(), 2u);
}

TEST_F(DrainStep, WaitsWhileAReplacementIsMissing) {
  max_parallel = 1;
  place(9);
  const JobDrain found = look();
  EXPECT_TRUE(found.drain.empty());
  EXPECT_FALSE(found.done);
}

TEST_F(DrainStep, ContinuesAfterAnUnhealthyReplacement) {  // R-CTRL-1023
  place(10);
  cluster.state.allocs[0].deployment_status->healthy = false;
  EXPECT_EQ(look().drain.size(), 2u);
}

TEST(Drain, AnEmptyNodeIsDrainedAtOnce) {  // R-CTRL-1011
  SmallCluster cluster;
  cluster.add_nodes(1);
  cluster.start();
  cluster.run_until(5);
  cluster.drain(1, 3600 * kS);
  cluster.run_until(5);
  EXPECT_EQ(cluster.written(), std::vector<std::string>{"5000 node_drain_batch"});
  const auto node = cluster.log().node(node_id(1));
  EXPECT_FALSE(node->drain_strategy.has_value());
  EXPECT_EQ(node->scheduling_eligibility, "ineligible");
  EXPECT_EQ(node->last_drain["Status"].as_string(), "complete");
}

TEST(Drain, BatchWorkEndsAtTheDeadlineWithoutReplacement) {  // example 9 of section 18
  SmallCluster cluster;
  cluster.add_nodes(1);
  cluster.add_job("b", "batch", 1);
  cluster.add_alloc(1, 0, 1);
  cluster.start();
  cluster.drain(1, kS);
  cluster.run_until(10);
  EXPECT_EQ(cluster.written(), (std::vector<std::string>{"2000 alloc_transition", "2000 node_drain_batch"}));
  const auto alloc = cluster.log().alloc(alloc_id(1));
  EXPECT_EQ(alloc->desired_transition.migrate, true);
  EXPECT_EQ(alloc->desired_transition.migrate_disable_placement, true);
  const auto node = cluster.log().node(node_id(1));
  EXPECT_EQ(node->events.items().back()["Details"]["deadline_reached"].as_string(), "true");
}

TEST(Drain, AServiceMovesOneAllocationAtATime) {  // R-CTRL-1020 to 1027
  SmallCluster cluster;
  cluster.add_nodes(2);
  cluster.add_job("j", "service", 2);
  for (std::uint64_t n = 1; n <= 2; ++n) cluster.add_alloc(n, 0, 1).deployment_status.emplace().healthy = true;
  cluster.start();
  cluster.drain(1, 0);
  cluster.run_until(3);
  EXPECT_EQ(cluster.written(), std::vector<std::string>{"1000 alloc_transition"});
  EXPECT_EQ(cluster.log().alloc(alloc_id(1))->desired_transition.migrate, true);
  EXPECT_FALSE(cluster.log().alloc(alloc_id(2))->desired_transition.migrate.has_value());
  // The scheduler's answer: a stop and a replacement on the other node, which becomes healthy.
  cluster.replace(1, 3, 2);
  cluster.report(1, 1, "complete");
  cluster.report(3, 2, "running", true);
  cluster.out.clear();
  cluster.run_until(5);
  EXPECT_EQ(cluster.written(), std::vector<std::string>{"4000 alloc_transition"});
  EXPECT_EQ(cluster.log().alloc(alloc_id(2))->desired_transition.migrate, true);
  cluster.out.clear();
  cluster.report(2, 1, "complete");
  cluster.run_until(6);
  EXPECT_EQ(cluster.written(), std::vector<std::string>{"5000 node_drain_batch"});  // R-CTRL-1027
  EXPECT_EQ(cluster.watchers().drainer().draining_nodes(), 0u);
}

TEST(Drain, ADrainThatBeginsDuringAnotherCommitWaitsForTheNextAllocationChange) {
  SmallCluster cluster;
  cluster.add_nodes(3);
  cluster.add_job("a", "service", 2), cluster.add_job("b", "service", 2);
  for (std::uint64_t n = 1; n <= 4; ++n)
    cluster.add_alloc(n, n <= 2 ? 0 : 1, n <= 2 ? 1 : 2).deployment_status.emplace().healthy = true;
  cluster.start();
  cluster.drain(1, 0);
  cluster.run_until(0.5);
  cluster.drain(2, 0);
  cluster.run_until(20);
  EXPECT_EQ(cluster.written(), std::vector<std::string>{"1000 alloc_transition"});
  cluster.report(2, 1, "running");
  cluster.run_until(22);
  EXPECT_EQ(cluster.written().back(), "21000 alloc_transition");
  EXPECT_EQ(cluster.log().alloc(alloc_id(3))->desired_transition.migrate, true);
}

}  // namespace
}  // namespace berth::lifecycle
