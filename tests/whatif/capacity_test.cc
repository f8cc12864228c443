// How much more fits: trials in copies of the process decide as fresh clusters do, and leave their cluster unchanged.
#include "whatif/capacity.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <random>
#include <set>

namespace berth::whatif {
namespace {

class CapacityTest : public ::testing::Test {
 protected:
  void TearDown() override {
    for (const std::string& file : files_) std::remove(file.c_str());
  }

  static std::unique_ptr<WhatIf> made_up(std::int64_t nodes) {
    serve::StartOptions options;
    options.nodes = nodes, options.now_ns = 1'800'000'000 * base::kSecond;
    auto start = serve::prepare(options);
    EXPECT_TRUE(start) << start.error().line();
    return std::make_unique<WhatIf>(std::move(*start), Settings{});
  }
  std::string file_of(const std::string& id, const std::string& group) {
    const std::string file = "capacity_" + id + ".json";
    std::ofstream(file) << R"({"Job": {"ID": ")" << id << R"(", "Name": ")" << id
                        << R"(", "Datacenters": ["*"], "TaskGroups": [{)" << group << "}]}}";
    files_.insert(file);
    return file;
  }
  static std::string task(int cpu, int memory, const std::string& more = "") {
    return R"("Tasks": [{"Name": "main", "Driver": "exec", "Config": {"command": "x"}, "Resources": {"CPU": )" +
           std::to_string(cpu) + R"(, "MemoryMB": )" + std::to_string(memory) + more + "}}]";
  }
  static void submit(WhatIf& cluster, const std::string& file) {
    const auto step = make_step(Change::submit, {file});
    ASSERT_TRUE(step) << step.error();
    const auto report = cluster.take(*step);
    ASSERT_TRUE(report) << report.error();
  }

  /// Jobs of several shapes on a few nodes. The same seed gives the same cluster.
  std::unique_ptr<WhatIf> random_cluster(std::uint32_t seed) {
    std::mt19937 draw(seed);
    const auto below = [&](int most) { return static_cast<int>(draw() % static_cast<unsigned>(most)); };
    auto cluster = made_up(6 + below(20));
    static constexpr const char* kMore[] = {
        "",
        "",
        R"("Constraints": [{"Operand": "distinct_hosts"}], )",
        R"("Spreads": [{"Attribute": "${meta.rack}", "Weight": 50}], )",
        R"("Networks": [{"ReservedPorts": [{"Label": "a", "Value": 8080}]}], )",
        R"("Update": {"MaxParallel": 1, "MinHealthyTime": 5000000000, "HealthCheck": "task_states"}, )"};
    for (int job = 0; job < 6; ++job) {
      const std::string group = R"("Name": "g", "Count": )" + std::to_string(1 + below(12)) + ", " + kMore[below(6)];
      submit(*cluster, file_of("j" + std::to_string(job), group + task(200 + below(20) * 100, 64 + below(16) * 128)));
    }
    return cluster;
  }

  std::set<std::string> files_;
};

TEST_F(CapacityTest, EveryTrialDecidesLikeAFreshCluster) {
  std::set<std::string> limits;
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const std::string file = file_of("new", R"("Name": "g", "Count": 1, )" + task(1500, 700));
    const auto cluster = random_cluster(seed);
    const Packing before = cluster->packing();
    const auto room = find_room(*cluster, {file});
    ASSERT_TRUE(room) << room.error();
    // On clusters this small the guesses help little. At most two more trials than by halving alone are made in vain.
    const double free = 100 / std::max(before.cpu, before.memory) - 100;  // percent
    EXPECT_LE(static_cast<double>(room->trials), std::ceil(std::log2(2 * free + 2)) + 2);
    EXPECT_EQ(cluster->packing().allocs, before.allocs);
    EXPECT_EQ(cluster->packing().cpu, before.cpu);

    const Growth& mix = room->mix;
    const auto percent = std::lround((mix.factor - 1) * 100);
    const Growth fits = random_cluster(seed)->grow_all(percent);
    EXPECT_FALSE(fits.ended);
    EXPECT_EQ(fits.placed, mix.placed);
    ASSERT_TRUE(mix.ended);
    const Growth fails = random_cluster(seed)->grow_all(percent + 1);
    EXPECT_TRUE(fails.ended);
    EXPECT_EQ(fails.job, mix.job);
    EXPECT_EQ(fails.group, mix.group);
    EXPECT_EQ(fails.reasons, mix.reasons);
    limits.insert(mix.reasons.substr(mix.reasons.find(':')));

    const auto fresh = random_cluster(seed);
    const auto job = fresh->read_growing(file);
    ASSERT_TRUE(job) << job.error();
    const auto filled = fresh->fill(**job, 0);
    ASSERT_TRUE(filled) << filled.error();
    ASSERT_EQ(room->jobs.size(), 1u);
    EXPECT_EQ(room->jobs[0].file, file);
    EXPECT_EQ(room->jobs[0].placed, filled->placed);
    EXPECT_EQ(room->jobs[0].reasons, filled->reasons);
  }
  EXPECT_GE(limits.size(), 3u) << "the clusters should end at different limits";
}

TEST_F(CapacityTest, TrialsBeginAtTheLimitOfTheResources) {
  const auto cluster = made_up(60);  // of 20,000 MHz: ten `app` on each
  submit(*cluster, file_of("web", R"("Name": "app", "Count": 300, )" + task(2000, 64)));
  const auto room = find_room(*cluster, {});
  ASSERT_TRUE(room) << room.error();
  EXPECT_DOUBLE_EQ(room->mix.factor, 2);
  EXPECT_EQ(room->mix.placed, 300);
  EXPECT_EQ(room->mix.reasons, "60 nodes: cpu exhausted");
  EXPECT_EQ(room->trials, 2);  // 100 % fit, 101 % do not
}

// 60 nodes of 20,000 MHz: one `big` of 19,000 a node, ten `app` of 2,000.
TEST_F(CapacityTest, AJobFileFillsTheClusterAndTheLimitIsNamed) {
  const std::string big = file_of("large", R"("Name": "big", "Count": 1, )" + task(19000, 1024));
  const std::string small = file_of("web", R"("Name": "app", "Count": 1, )" + task(2000, 64));
  const auto cluster = made_up(60);
  const auto room = find_room(*cluster, {big, small});
  ASSERT_TRUE(room) << room.error();
  ASSERT_EQ(room->jobs.size(), 2u);
  EXPECT_EQ(room->jobs[0].job, "large");
  EXPECT_EQ(room->jobs[0].placed, 60);
  EXPECT_TRUE(room->jobs[0].ended);
  EXPECT_EQ(room->jobs[0].reasons, "60 nodes: cpu exhausted");
  EXPECT_EQ(room->jobs[1].placed, 600);
  EXPECT_EQ(room->mix.placed, 0) << "nothing runs that could grow";
  EXPECT_FALSE(room->mix.ended);
}

TEST_F(CapacityTest, SmallGroupsGrowByWholeAllocations) {
  const auto cluster = made_up(60);
  submit(*cluster, file_of("web", R"("Name": "app", "Count": 30, )" + task(2000, 1024)));
  const auto room = find_room(*cluster, {});
  ASSERT_TRUE(room) << room.error();
  EXPECT_DOUBLE_EQ(room->mix.factor, 20.03);  // 600 allocations fit: 570 more are 1,900 %, and 3 % of 30 are none
  EXPECT_EQ(room->mix.placed, 570);
  EXPECT_EQ(room->mix.job, "web");
  EXPECT_EQ(room->mix.group, "app");
}

TEST_F(CapacityTest, UseCountsLiveAllocationsOnNodesThatAreUp) {
  model::ClusterState state;
  for (const char* status : {"ready", "down"}) {
    model::Node& node = state.nodes.emplace_back();
    node.id = status, node.status = status;
  }
  for (const auto& [node, client] : {std::pair("ready", "running"), std::pair("ready", "complete"),
                                     std::pair("down", "running"), std::pair("gone", "running")}) {
    model::Allocation& alloc = state.allocs.emplace_back();
    alloc.node_id = node, alloc.client_status = client;
    auto& held = alloc.allocated_resources.emplace().tasks["main"];
    held.cpu.cpu_shares = 500, held.memory.memory_mb = 256;
  }
  const Used used = used_by(state);
  EXPECT_EQ(used.cpu_mhz, 500);
  EXPECT_EQ(used.memory_mb, 256);
}

TEST_F(CapacityTest, RefusesJobsThatCannotGrow) {
  const auto cluster = made_up(3);
  const std::string file = "capacity_system.json";
  files_.insert(file);
  std::ofstream(file) << R"({"Job": {"ID": "s", "Name": "s", "Type": "system", "Datacenters": ["*"],
    "TaskGroups": [{"Name": "g", )"
                      << task(100, 64) << "}]}}";
  const auto refused = find_room(*cluster, {file});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), file + ": a system job runs once on each node; only service and batch jobs can grow");
  EXPECT_NE(find_room(*cluster, {"missing.json"}).error().find("missing.json"), std::string::npos);
}

}  // namespace
}  // namespace berth::whatif
