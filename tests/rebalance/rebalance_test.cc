// Plans for small clusters: which allocations move and which stay, and each move repeated on a fresh cluster.
#include "rebalance/rebalance.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "base/text.h"
#include "model/job.h"
#include "rebalance/text.h"
#include "tables/export.h"
#include "whatif/whatif.h"

namespace berth::rebalance {
namespace {

/// A service job spread over all nodes. `more`: further keys of its group.
std::string job(const std::string& name, int count, int cpu, const std::string& more = "") {
  return fmt::format(
      R"({{"Job": {{"ID": "{0}", "Name": "{0}", "Type": "service", "Datacenters": ["*"], "TaskGroups": [{{"Name": "app",
      "Count": {1}, {3} "Spreads": [{{"Attribute": "${{node.unique.id}}", "Weight": 100}}], "Tasks": [{{"Name": "main",
      "Driver": "exec", "Config": {{"command": "x"}}, "Resources": {{"CPU": {2}, "MemoryMB": 256}}}}]}}]}}}})",
      name, count, cpu, more);
}

/// Six made-up nodes of 20,000 MHz, on which the jobs run.
serve::Start running(const std::vector<std::string>& jobs) {
  serve::StartOptions options;
  options.nodes = 6, options.now_ns = 1'800'000'000 * base::kSecond;
  auto start = serve::prepare(options);
  EXPECT_TRUE(start) << start.error().line();
  whatif::WhatIf cluster(*start, {});
  for (const std::string& text : jobs) {
    std::ofstream("rebalance_job.json") << text;
    const auto report = cluster.take(*whatif::make_step(whatif::Change::submit, {"rebalance_job.json"}));
    EXPECT_TRUE(report) << report.error();
    std::remove("rebalance_job.json");
  }
  start->state = tables::to_cluster(cluster.state());
  start->config.start_ns = cluster.now();
  return std::move(*start);
}

/// Makes the plan's moves on a fresh cluster, as its script would, and expects each to go where the plan says.
void replay(const serve::Start& start, const Plan& plan) {
  living::Config config = start.config;
  config.resume = true;
  living::Cluster cluster(config);
  cluster.load(start.state);
  cluster.run_until(cluster.now());
  const auto& state = cluster.state();
  auto& store = cluster.server().store();
  for (const auto* list : {&plan.idle, &plan.emptied})
    for (const NodeName& node : *list) {
      ASSERT_EQ(cluster.apply(living::NodeEligibility{node.id, false}).error, "");
    }
  for (const Move& move : plan.moves) {
    const tables::AllocRow row = store.find_alloc(move.alloc_id);
    ASSERT_NE(row, tables::kNoRow);
    const auto before = static_cast<std::uint32_t>(state.allocs.size());
    living::AllocStop stop;
    stop.alloc_id = move.alloc_id;
    ASSERT_EQ(cluster.apply(stop).error, "");
    cluster.run_until(cluster.now());
    ASSERT_EQ(state.allocs.desired[row], tables::Desired::stop);
    ASSERT_EQ(state.allocs.size(), before + 1) << "one allocation takes its place";
    const tables::AllocRow placed(before);
    EXPECT_EQ(base::to_text(state.nodes.id(state.allocs.node[placed])), move.to.id);
    EXPECT_EQ(state.allocs.job_key[placed], state.allocs.job_key[row]);
    const tables::NodeRow to = state.allocs.node[placed];
    EXPECT_LE(state.nodes.use[to].cpu_mhz, state.nodes.capacity(to).cpu_mhz);
    EXPECT_LE(state.nodes.use[to].memory_mb, state.nodes.capacity(to).memory_mb);
  }
  for (tables::AllocRow row = 0; row < state.allocs.size(); ++row)
    EXPECT_NE(state.allocs.desired[row], tables::Desired::evict);
  EXPECT_EQ(read_fleet(state, false, tables::AllocRow(state.allocs.size())).occupied(), plan.occupied_after);
}

// Twelve of 2,000 MHz, two a node: ten fit on one, so two nodes are enough, and no fewer.
TEST(Rebalance, EmptiesNodesDownToTheBound) {
  const serve::Start start = running({job("web", 12, 2000)});
  const Plan plan = make_plan(start, {});
  SCOPED_TRACE(to_text(plan, true));
  EXPECT_EQ(plan.occupied_before, 6);
  EXPECT_EQ(plan.bound.nodes, 2);
  EXPECT_EQ(plan.occupied_after, 2);
  EXPECT_EQ(plan.moves.size(), 8u);
  EXPECT_EQ(plan.emptied.size(), 4u);
  EXPECT_DOUBLE_EQ(plan.gap(), 0);
  for (const Move& move : plan.moves) EXPECT_DOUBLE_EQ(move.gain, 0.5);
  EXPECT_TRUE(plan.refusals.empty());
  replay(start, plan);
}

TEST(Rebalance, KeepsToItsLimits) {
  const serve::Start start = running({job("web", 12, 2000)});
  Settings settings;
  settings.limits.moves = 5;
  const Plan few = make_plan(start, settings);
  EXPECT_EQ(few.moves.size(), 4u);
  EXPECT_EQ(few.occupied_after, 4);
  EXPECT_EQ(few.bound.nodes, 4);
  replay(start, few);
  settings.limits.moves = 0;
  EXPECT_TRUE(make_plan(start, settings).moves.empty());
  settings.limits = {.nodes = 1};
  const Plan one = make_plan(start, settings);
  EXPECT_EQ(one.emptied.size(), 1u);
  EXPECT_EQ(one.occupied_after, 5);
  replay(start, one);
}

// Six nodes of 20,000 MHz: three hold 4,000 and 11,000, three hold 4,000. The mean request is 6,334: none fits on the
// former, two on each of the latter, and nine on all that is free as one node. Each of the latter that is emptied onto
// one of the former takes three.
TEST(Rebalance, StopsWhenFragmentationIsLowEnough) {
  const serve::Start start = running({job("small", 6, 4000), job("large", 3, 11000)});
  const Plan all = make_plan(start, {});
  SCOPED_TRACE(to_text(all, true));
  EXPECT_EQ(all.mean_request.cpu_mhz, 6334);
  EXPECT_DOUBLE_EQ(all.fragmentation_before, 1 - 6.0 / 9);
  EXPECT_EQ(all.moves.size(), 3u);
  EXPECT_DOUBLE_EQ(all.fragmentation_after, 0);
  Settings settings;
  for (const double limit : {0.0, 0.2, 0.3, 0.34, 1.0}) {
    settings.fragmentation = limit;
    const Plan plan = make_plan(start, settings);
    EXPECT_LE(plan.fragmentation_after, limit);
    EXPECT_EQ(plan.moves.empty(), limit > all.fragmentation_before) << limit;
    replay(start, plan);
  }
}

TEST(Rebalance, MovesThatTheSchedulerRefusesAreNotPrinted) {
  const serve::Start start =
      running({job("web", 6, 500),
               job("apart", 6, 500, R"("Constraints": [{"Operand": "distinct_hosts", "RTarget": "true"}],)")});
  const Plan plan = make_plan(start, {});
  SCOPED_TRACE(to_text(plan, true));
  EXPECT_TRUE(plan.moves.empty());
  EXPECT_EQ(plan.occupied_after, 6);
  EXPECT_GT(plan.passes, 1);
  ASSERT_FALSE(plan.refusals.empty());
  EXPECT_EQ(plan.refusals[0].job, "apart");
  EXPECT_NE(plan.refusals[0].reasons.find("distinct_hosts"), std::string::npos) << plan.refusals[0].reasons;
}

TEST(Rebalance, LeavesImmovableAllocations) {
  const serve::Start start =
      running({job("web", 6, 500), job("data", 1, 500, R"("EphemeralDisk": {"Sticky": true, "SizeMB": 300},)"),
               job("here", 1, 500,
                   R"("Constraints": [{"LTarget": "${node.unique.name}", "Operand": "=", "RTarget": "node-1"}],)")});
  const Plan plan = make_plan(start, {});
  SCOPED_TRACE(to_text(plan, true));
  EXPECT_EQ(plan.movable, 6);
  EXPECT_EQ(plan.stays[static_cast<std::size_t>(Stays::volume)], 1);
  EXPECT_EQ(plan.stays[static_cast<std::size_t>(Stays::pinned)], 1);
  EXPECT_EQ(plan.occupied_after, plan.bound.nodes);
  for (const Move& move : plan.moves) EXPECT_EQ(move.job, "web");
  replay(start, plan);
}

TEST(Rebalance, ScriptHasEachMoveAndQuotesNames) {
  Plan plan;
  plan.emptied.push_back({"11111111-1111-4111-8111-111111111111", "n1\nreboot"});
  Move move;
  move.alloc_id = "22222222-2222-4222-8222-222222222222", move.job = "a\nreboot", move.name_space = "p'x";
  plan.moves.push_back(move);
  const std::string text = script(plan, "c\nreboot");
  EXPECT_EQ(text.find("\nreboot"), std::string::npos) << text;
  EXPECT_NE(text.find("\nnomad node eligibility -disable 11111111-1111-4111-8111-111111111111 "), std::string::npos);
  EXPECT_NE(text.find("\nnomad alloc stop -namespace='p'\\''x' 22222222-2222-4222-8222-222222222222 "),
            std::string::npos);
}

}  // namespace
}  // namespace berth::rebalance
