#include "sim/cluster_generator.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <set>

#include "model/job.h"
#include "sim/workload.h"
#include "support/scratch_folder.h"

namespace berth::sim {
namespace {

ClusterSpec two_shapes(std::int64_t nodes) {
  ShapeSpec small, large;
  small.name = small.node_class = "small", small.weight = 3;
  small.cores = 4, small.mhz_per_core = 2000, small.memory_mb = 8192, small.disk_mb = 50'000;
  small.attributes = {{"os.version", {"22.04", "24.04"}}}, small.variants = 2, small.drivers = {"exec"};
  large.name = large.node_class = "large", large.weight = 1, large.pool = "gpu";
  large.cores = 32, large.mhz_per_core = 3000, large.memory_mb = 262'144, large.disk_mb = 1'000'000;
  large.reserved_cpu_mhz = 1000, large.reserved_memory_mb = 1024, large.drivers = {"exec", "docker"};
  large.devices.push_back({.vendor = "nvidia",
                           .type = "gpu",
                           .name = "a100",
                           .count = 8,
                           .attributes = {{"memory", "40960"}, {"arch", "ampere"}}});
  ClusterSpec spec;
  spec.nodes = nodes, spec.racks = 10, spec.datacenters = {"dc1", "dc2"};
  spec.shapes = {small, large};
  spec.load = LoadSpec{.percent = Quantity::uniform(0, 60)};
  return spec;
}

TEST(ClusterGenerator, ShapesWithANumberOfNodesComeFirstWithTheirVariantsInTurn) {
  ClusterSpec spec = two_shapes(20);
  spec.shapes[1].nodes = 5, spec.shapes[1].weight = 0, spec.shapes[1].variants = 2;
  spec.shapes[1].meta = {{"side", {"left", "right"}}};
  const GeneratedCluster cluster = generate_cluster(spec, 7);
  for (std::size_t row = 0; row < 20; ++row) {
    const model::Node& node = cluster.shapes[cluster.nodes[row].shape];
    EXPECT_EQ(node.node_class, row < 5 ? "large" : "small") << row;
    if (row < 5) {
      EXPECT_EQ(node.meta.at("side"), row % 2 == 0 ? "left" : "right");
    }
  }
}

TEST(ClusterGenerator, EqualSeedsGiveEqualClusters) {
  const GeneratedCluster a = generate_cluster(two_shapes(500), 7), b = generate_cluster(two_shapes(500), 7),
                         c = generate_cluster(two_shapes(500), 8);
  ASSERT_EQ(a.nodes.size(), 500U);
  bool shapes_differ = false;
  for (std::size_t i = 0; i < a.nodes.size(); ++i) {
    EXPECT_EQ(a.node(i), b.node(i));
    EXPECT_NE(a.nodes[i].id, c.nodes[i].id);
    shapes_differ |= a.nodes[i].shape != c.nodes[i].shape;
  }
  EXPECT_TRUE(shapes_differ);
  ASSERT_EQ(a.load.size(), b.load.size());
  EXPECT_NE(a.load.size(), c.load.size());
}

TEST(ClusterGenerator, FollowsWeightsVariantsRacksAndPools) {
  const GeneratedCluster cluster = generate_cluster(two_shapes(20'000), 1);
  std::map<std::string, int> classes, versions;
  std::set<base::Uuid> ids;
  std::map<std::uint32_t, std::uint32_t> datacenter_of_rack;
  for (std::size_t i = 0; i < cluster.nodes.size(); ++i) {
    const NodeRecord& record = cluster.nodes[i];
    ++classes[cluster.shapes[record.shape].node_class];
    ids.insert(record.id);
    EXPECT_EQ(datacenter_of_rack.emplace(record.rack, record.datacenter).first->second, record.datacenter);
    if (cluster.shapes[record.shape].node_class == "small")
      ++versions[cluster.shapes[record.shape].attributes.at("os.version")];
  }
  EXPECT_EQ(ids.size(), 20'000U);
  EXPECT_EQ(datacenter_of_rack.size(), 10U);
  // Binomial with n = 20,000 and p = 3/4: 5 standard deviations are 306.
  EXPECT_NEAR(classes["small"], 15'000, 306);
  EXPECT_NEAR(versions["22.04"], versions["24.04"], 700);
  ASSERT_EQ(cluster.pools.size(), 1U);
  EXPECT_EQ(cluster.pools[0].name, "gpu");
  const model::Node large = [&] {
    for (std::size_t i = 0;; ++i)
      if (cluster.shapes[cluster.nodes[i].shape].node_class == "large") return cluster.node(i);
  }();
  EXPECT_EQ(large.node_resources->cpu.cpu_shares, 96'000);
  EXPECT_EQ(large.node_resources->devices.at(0).instances.size(), 8U);
  EXPECT_EQ(large.node_resources->devices.at(0).attributes.at("memory")->int_value, 40'960);
  EXPECT_EQ(large.node_resources->devices.at(0).attributes.at("arch")->string_value, "ampere");
  EXPECT_EQ(large.drivers.size(), 2U);
}

TEST(ClusterGenerator, LoadStaysWithinItsShareOfEveryNode) {
  const GeneratedCluster cluster = generate_cluster(two_shapes(300), 3);
  std::vector<std::int64_t> cpu(300), memory(300);
  std::map<std::uint32_t, std::set<std::uint32_t>> indexes;
  ASSERT_GT(cluster.load.size(), 300U);
  for (std::size_t i = 0; i < cluster.load.size(); ++i) {
    const LoadRecord& record = cluster.load[i];
    const auto& asked = *cluster.load_jobs[record.job]->task_groups.front().tasks.front().resources;
    cpu[record.node] += asked.cpu;
    memory[record.node] += asked.memory_mb;
    EXPECT_TRUE(indexes[record.job].insert(record.name_index).second);
  }
  for (std::size_t row = 0; row < 300; ++row) {
    const model::Node node = cluster.node(row);
    EXPECT_LE(cpu[row], (node.node_resources->cpu.cpu_shares - node.reserved_resources->cpu.cpu_shares) * 60 / 100);
    EXPECT_LE(memory[row],
              (node.node_resources->memory.memory_mb - node.reserved_resources->memory.memory_mb) * 60 / 100);
  }
  // The counts of the jobs equal their allocations.
  std::int64_t wanted = 0;
  for (const auto& job : cluster.load_jobs) wanted += job->task_groups.front().count;
  EXPECT_EQ(wanted, static_cast<std::int64_t>(cluster.load.size()));
}

TEST(ClusterGenerator, AMillionNodesCostOneSmallRecordEach) {
  ClusterSpec spec = two_shapes(1'000'000);
  spec.load.reset();
  const GeneratedCluster cluster = generate_cluster(spec, 1);
  EXPECT_EQ(cluster.nodes.size(), 1'000'000U);
  EXPECT_EQ(cluster.shapes.size(), 3U);
  EXPECT_EQ(cluster.node(999'999).name, "node-999999");
}

TEST(GridCluster, EqualsTheRecordedCluster) {
  const GeneratedCluster cluster = grid_cluster(500, 25);
  const model::Node node = cluster.node(131);
  EXPECT_EQ(node.name, "node-131");
  EXPECT_EQ(node.datacenter, "dc-2");
  EXPECT_EQ(node.meta.at("rack"), "r6");
  EXPECT_EQ(node.attributes.at("unique.advertise.address"), "192.168.1.11");
  EXPECT_EQ(node.node_resources->cpu.cpu_shares, 14'000);
  // Evaluation IDs are recorded (kind 2); node IDs come from the same function with kind 1.
  EXPECT_EQ(base::to_text(base::generated_id(2, 1)), "c4858308-e594-9c49-b9fe-21ca89c73fad");
  EXPECT_EQ(base::to_text(base::generated_id(2, 120)), "2de48578-772a-6a66-3307-bcd62d6a6af7");
}

class ClusterFile : public ::testing::Test {
 protected:
  std::string write(const std::string& text) {
    const std::string path = scratch_.file("nodes.json");
    std::ofstream(path) << text;
    return path;
  }

 private:
  testing::ScratchFolder scratch_;
};

TEST_F(ClusterFile, ReadsNodesAndSharesShapes) {
  const std::string node =
      R"("Datacenter":"dc1","Status":"ready","NodeResources":{"Cpu":{"CpuShares":1000},"Memory":{"MemoryMB":10}}})";
  const auto cluster =
      read_cluster_file(write(R"([{"ID":"00000000-0000-0000-0000-000000000001","Name":"a",)" + node +
                              R"(,{"ID":"00000000-0000-0000-0000-000000000002","Name":"b",)" + node + "]"));
  ASSERT_TRUE(cluster) << cluster.error().line();
  EXPECT_EQ(cluster->shapes.size(), 1U);
  EXPECT_EQ(cluster->node(1).name, "b");
  EXPECT_EQ(cluster->node(1).id, "00000000-0000-0000-0000-000000000002");
  EXPECT_EQ(cluster->node(0).node_pool, "default");
}

TEST_F(ClusterFile, RefusesBadFilesWithThePlace) {
  struct Case {
    const char *text, *place, *problem;
  };
  for (const Case& c : {Case{"", "", ""}, Case{"{}", "/Nodes", "holds no list of nodes"},
                        Case{"[]", "", "holds no list of nodes"}, Case{R"([{"ID":"x"}])", "/0/ID", "is not a UUID"},
                        Case{R"([{"ID":"00000000-0000-0000-0000-000000000001"}])", "/0/NodeResources", "is missing"},
                        Case{R"([{"ID":7}])", "/0/ID", ""}, Case{R"([{"ID":"0)", "", ""}}) {
    const auto cluster = read_cluster_file(write(c.text));
    ASSERT_FALSE(cluster) << c.text;
    EXPECT_NE(cluster.error().line().find(c.place), std::string::npos) << cluster.error().line();
    EXPECT_NE(cluster.error().line().find(c.problem), std::string::npos) << cluster.error().line();
    EXPECT_EQ(cluster.error().line().find('\n'), std::string::npos);
  }
}

}  // namespace
}  // namespace berth::sim
