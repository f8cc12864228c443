// Steps on a cluster of three racks: which allocations move, wait, are evicted, and how far groups fall short.
#include "whatif/whatif.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <set>

namespace berth::whatif {
namespace {

constexpr const char* kWeb = R"({"Job": {"ID": "web", "Name": "web", "Type": "service", "Datacenters": ["*"],
  "TaskGroups": [{"Name": "app", "Count": 30, "Migrate": {"MaxParallel": 2, "HealthCheck": "task_states",
    "MinHealthyTime": 5000000000, "HealthyDeadline": 60000000000},
    "Spreads": [{"Attribute": "${meta.rack}", "Weight": 100}],
    "Tasks": [{"Name": "main", "Driver": "exec", "Config": {"command": "x"},
      "Resources": {"CPU": 2000, "MemoryMB": 1024}}]}]}})";
// One a node: 20 of them fill a rack.
constexpr const char* kLarge = R"({"Job": {"ID": "large", "Name": "large", "Type": "service", "Priority": 80,
  "Datacenters": ["*"], "TaskGroups": [{"Name": "big", "Count": 60,
    "Tasks": [{"Name": "main", "Driver": "exec", "Config": {"command": "x"},
      "Resources": {"CPU": 19000, "MemoryMB": 1024}}]}]}})";

class WhatIfTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ofstream("whatif_web.json") << kWeb;
    std::ofstream("whatif_large.json") << kLarge;
    cluster_ = std::make_unique<WhatIf>(started(), Settings{});
  }
  static serve::Start started() {
    serve::StartOptions options;
    options.nodes = 60, options.now_ns = 1'800'000'000 * base::kSecond;
    auto start = serve::prepare(options);
    EXPECT_TRUE(start) << start.error().line();
    return std::move(*start);
  }
  void TearDown() override {
    std::remove("whatif_web.json");
    std::remove("whatif_large.json");
  }

  StepReport take(Change change, const std::vector<std::string>& words) {
    const auto step = make_step(change, words);
    EXPECT_TRUE(step) << step.error();
    auto report = cluster_->take(*step);
    EXPECT_TRUE(report) << report.error();
    return report ? *report : StepReport();
  }
  std::string refusal(Change change, const std::vector<std::string>& words) {
    const auto step = make_step(change, words);
    EXPECT_TRUE(step) << step.error();
    const auto report = cluster_->take(*step);
    EXPECT_FALSE(report);
    return report ? "" : report.error();
  }
  static std::int64_t moved(const StepReport& report) {
    return std::count_if(report.placements.begin(), report.placements.end(),
                         [](const Placement& one) { return !one.from.empty(); });
  }

  std::unique_ptr<WhatIf> cluster_;
};

TEST_F(WhatIfTest, DrainMovesARackTwoAtATimeAndLosesNothing) {
  const StepReport added = take(Change::submit, {"whatif_web.json"});
  EXPECT_EQ(added.placements.size(), 30u);
  EXPECT_EQ(moved(added), 0);
  const StepReport report = take(Change::drain, {"meta.rack=r1"});
  EXPECT_EQ(report.nodes, 20);
  EXPECT_EQ(moved(report), 10);  // the spread put ten in each rack
  EXPECT_EQ(report.placements.size(), 10u);
  EXPECT_EQ(report.stopped, 0);
  EXPECT_TRUE(report.waiting.empty());
  EXPECT_EQ(report.after.allocs, 30);
  EXPECT_EQ(report.after.eligible_nodes, 40);
  ASSERT_EQ(report.shortfalls.size(), 1u);
  EXPECT_EQ(report.shortfalls[0].ran, 30);
  EXPECT_EQ(report.shortfalls[0].allowed, 2);
  EXPECT_LE(report.shortfalls[0].away_most, 2);
  EXPECT_EQ(report.shortfalls[0].away_end, 0);
  EXPECT_GT(report.length_s, 5 * 4);  // five rounds, each healthy after five seconds
  EXPECT_TRUE(report.settled);
}

TEST_F(WhatIfTest, ALostRackIsUnavailableUntilTheServersNotice) {
  take(Change::submit, {"whatif_web.json"});
  const StepReport report = take(Change::lose, {"meta.rack=r2"});
  EXPECT_EQ(moved(report), 10);
  EXPECT_EQ(report.after.nodes, 40);
  ASSERT_EQ(report.shortfalls.size(), 1u);
  EXPECT_EQ(report.shortfalls[0].away_most, 10);
  EXPECT_FALSE(report.shortfalls[0].allowed);
  EXPECT_GE(report.shortfalls[0].below_s, 10);  // the grace after a heartbeat that does not come
  EXPECT_GE(report.shortfalls[0].missing_s, 100);
}

TEST_F(WhatIfTest, UnplacedAllocationsWaitWithAReasonUntilNodesJoin) {
  take(Change::submit, {"whatif_large.json"});
  const StepReport gone = take(Change::remove, {"meta.rack=r3"});
  EXPECT_EQ(gone.after.nodes, 40);
  ASSERT_EQ(gone.waiting.size(), 1u);
  EXPECT_EQ(gone.waiting[0].job, "large");
  EXPECT_EQ(gone.waiting[0].missing, 20);
  EXPECT_FALSE(gone.waiting[0].before);
  EXPECT_EQ(gone.waiting[0].reasons, "40 nodes: cpu exhausted");
  auto add = make_step(Change::add, {"15"});
  ASSERT_TRUE(add);
  ASSERT_TRUE(with_like(*add, "node-1"));
  const auto came = cluster_->take(*add);
  ASSERT_TRUE(came) << came.error();
  EXPECT_EQ(came->placements.size(), 15u);
  EXPECT_EQ(came->after.nodes, 55);
  ASSERT_EQ(came->waiting.size(), 1u);
  EXPECT_EQ(came->waiting[0].missing, 5);
  EXPECT_TRUE(came->waiting[0].before);
}

TEST_F(WhatIfTest, PreemptionNamesVictimsAndEvictors) {
  take(Change::submit, {"whatif_web.json"});
  EXPECT_GT(take(Change::submit, {"whatif_large.json"}).waiting.size(), 0u);
  take(Change::stop, {"large"});
  take(Change::preemption, {"service=on"});
  const StepReport report = take(Change::submit, {"whatif_large.json"});
  EXPECT_EQ(report.evictions.size(), 30u);
  for (const Eviction& one : report.evictions) {
    EXPECT_EQ(one.job, "web");
    EXPECT_EQ(one.by, "large");
  }
}

/// A part of the 60 nodes have allocations of web; of the 6 nodes in the sample some have, some have not.
TEST_F(WhatIfTest, AStrategyAppliesToLaterSteps) {
  std::ofstream("whatif_one.json") << R"({"Job": {"ID": "one", "Name": "one", "Type": "service", "Datacenters": ["*"],
    "TaskGroups": [{"Name": "g", "Tasks": [{"Name": "main", "Driver": "exec", "Config": {"command": "x"},
      "Resources": {"CPU": 100, "MemoryMB": 64}}]}]}})";
  std::set<std::string> of_web;
  for (const Placement& one : take(Change::submit, {"whatif_web.json"}).placements) of_web.insert(one.node);
  ASSERT_LT(of_web.size(), 40u);
  for (const auto& [strategy, beside_web] : {std::pair("worst-fit", false), std::pair("best-fit", true),
                                             std::pair("expr:left_cpu", false), std::pair("nomad", true)}) {
    take(Change::strategy, {strategy});
    const StepReport report = take(Change::submit, {"whatif_one.json"});
    ASSERT_EQ(report.placements.size(), 1u) << strategy;
    EXPECT_EQ(of_web.contains(report.placements[0].node), beside_web) << strategy;
    take(Change::stop, {"one"});
  }
  std::remove("whatif_one.json");
}

TEST_F(WhatIfTest, UpgradeBringsEachNodeBack) {
  take(Change::submit, {"whatif_web.json"});
  const StepReport report = take(Change::upgrade, {"meta.rack=r1"});
  EXPECT_TRUE(report.settled);
  EXPECT_EQ(report.after.eligible_nodes, 60);
  EXPECT_EQ(report.after.allocs, 30);
  ASSERT_EQ(report.shortfalls.size(), 1u);
  EXPECT_LE(report.shortfalls[0].away_most, 2);
}

TEST_F(WhatIfTest, SystemAllocationsComeBackToTheirOwnNode) {
  std::ofstream("whatif_agent.json") << R"({"Job": {"ID": "agent", "Type": "system", "Datacenters": ["*"],
    "TaskGroups": [{"Name": "main", "Tasks": [{"Name": "main", "Driver": "exec", "Config": {"command": "x"}}]}]}})";
  take(Change::submit, {"whatif_agent.json"});
  const StepReport report = take(Change::upgrade, {"meta.rack=r1"});
  EXPECT_EQ(report.placements.size(), 20u);
  for (const Placement& one : report.placements) EXPECT_EQ(one.from, one.node);
  EXPECT_EQ(report.stopped, 0);
  std::remove("whatif_agent.json");
}

// A batch allocation holds the drain open for three hours. The leader's garbage collection removes the stopped
// allocation of the service, and its evaluation, after one.
TEST_F(WhatIfTest, MovesOfALongStepCountAfterTheirAllocationsAreRemoved) {
  const auto write = [](const char* file, const char* type) {
    std::ofstream(file) << fmt::format(R"({{"Job": {{"ID": "{0}", "Type": "{0}", "Datacenters": ["*"], "TaskGroups": [
      {{"Name": "main", "Tasks": [{{"Name": "main", "Driver": "exec", "Config": {{"command": "x"}}}}]}}]}}}})",
                                       type);
  };
  write("whatif_service.json", "service"), write("whatif_batch.json", "batch");
  Settings settings;
  settings.drain_deadline_ns = 3 * 3600 * base::kSecond;
  cluster_ = std::make_unique<WhatIf>(started(), settings);
  for (const char* rack : {"meta.rack=r2", "meta.rack=r3"}) take(Change::drain, {rack});  // only r1 is left
  for (const char* file : {"whatif_service.json", "whatif_batch.json"}) take(Change::submit, {file});
  auto add = make_step(Change::add, {"1"});
  ASSERT_TRUE(add && with_shape(*add, "cpu=8000,memory=16384,disk=100000"));
  ASSERT_TRUE(cluster_->take(*add));
  const StepReport report = take(Change::drain, {"meta.rack=r1"});
  EXPECT_GT(report.length_s, 3 * 3600 - 60);
  ASSERT_EQ(report.placements.size(), 1u);
  EXPECT_EQ(report.placements[0].job, "service");
  EXPECT_NE(report.placements[0].from, "");
  EXPECT_EQ(report.stopped, 1);  // the batch allocation, at the deadline
  for (const char* file : {"whatif_service.json", "whatif_batch.json"}) std::remove(file);
}

TEST_F(WhatIfTest, OtherStepsTakeEffect) {
  take(Change::submit, {"whatif_web.json"});
  EXPECT_EQ(take(Change::scale, {"web/app=33"}).placements.size(), 3u);
  EXPECT_EQ(take(Change::scale, {"web/app=30"}).stopped, 3);
  EXPECT_EQ(take(Change::edit, {"meta.rack=r1", "class=old"}).nodes, 20);
  EXPECT_EQ(take(Change::drain, {"class=old"}).nodes, 20);
  EXPECT_EQ(take(Change::config, {"algorithm=spread"}).after.allocs, 30);
  EXPECT_EQ(take(Change::stop, {"web"}).stopped, 30);
  EXPECT_EQ(cluster_->packing().allocs, 0);
}

TEST_F(WhatIfTest, RefusesUnknownObjects) {
  EXPECT_EQ(refusal(Change::drain, {"meta.rack=r9"}), "matches no node");
  EXPECT_NE(refusal(Change::stop, {"web"}).find("no job 'web'"), std::string::npos);
  EXPECT_EQ(refusal(Change::scale, {"web/app=3"}), "there is no job 'web' in namespace 'default'");
  EXPECT_NE(refusal(Change::submit, {"missing.json"}).find("missing.json"), std::string::npos);
}

TEST_F(WhatIfTest, ARemovedMachineWithoutANameKeepsItsId) {
  serve::Start start = started();
  std::set<std::string> ids;
  for (model::Node& node : start.state.nodes) node.name.clear(), ids.insert(node.id);
  cluster_ = std::make_unique<WhatIf>(std::move(start), Settings{});
  take(Change::submit, {"whatif_web.json"});
  const StepReport report = take(Change::remove, {"meta.rack=r1"});
  EXPECT_EQ(moved(report), 10);
  for (const Placement& one : report.placements) EXPECT_TRUE(ids.contains(one.from)) << one.from;
}

TEST_F(WhatIfTest, TheMostFrequentNodeClassesAreNamed) {
  take(Change::submit, {"whatif_large.json"});
  // Twelve nodes of each of four classes, two of each of five; two keep their class, "general".
  for (int node = 1; node <= 58; ++node)
    take(Change::edit, {"node-" + std::to_string(node), "class=" + (node <= 48 ? "large-" + std::to_string(node % 4)
                                                                               : "z-" + std::to_string(node % 5))});
  const StepReport report = take(Change::scale, {"large/big=61"});
  ASSERT_EQ(report.waiting.size(), 1u);
  EXPECT_EQ(report.waiting[0].reasons,
            "60 nodes: cpu exhausted (exhausted by node class: 12 large-0, 12 large-1, 12 large-2, 12 large-3, "
            "2 general and 5 more)");
}

TEST_F(WhatIfTest, TheLargestValueOfAKeyIsFound) {
  EXPECT_EQ(cluster_->largest("datacenter"), "datacenter=dc1");  // all three are equal: the first
  EXPECT_EQ(cluster_->largest("meta.row"), "");
}

}  // namespace
}  // namespace berth::whatif
