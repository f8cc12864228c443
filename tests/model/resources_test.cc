// Flattening, capacity, canonical nodes and port texts: the worked examples of the specification.
#include <gtest/gtest.h>

#include <random>

#include "base/text.h"
#include "model/flatten.h"
#include "model/port_ranges.h"
#include "model/registration/node_canonical.h"

namespace berth::model {
namespace {

AllocatedTask task(std::int64_t cpu_mhz, std::int64_t memory_mb, std::int64_t memory_max_mb = 0) {
  AllocatedTask out;
  out.cpu.cpu_shares = cpu_mhz;
  out.memory = {memory_mb, memory_max_mb};
  return out;
}

TEST(Flatten, TakesThePeakOfEachComponentOverThePhases) {  // W-5, R-MODEL-380
  AllocatedResources r;
  r.tasks = {{"pre", task(1000, 100)},
             {"sidecar", task(200, 64)},
             {"main", task(500, 256, 512)},
             {"post-start", task(100, 32)},
             {"post-stop", task(50, 900)}};
  r.task_lifecycles = {{"pre", Lifecycle{"prestart", false}},
                       {"sidecar", Lifecycle{"prestart", true}},
                       {"main", std::nullopt},
                       {"post-start", Lifecycle{"poststart", false}},
                       {"post-stop", Lifecycle{"poststop", false}}};
  const FlatResources use = flatten(r);
  EXPECT_EQ(use.cpu_mhz, 1200);
  EXPECT_EQ(use.memory_mb, 900);
  EXPECT_EQ(use.memory_max_mb, 900);
}

TEST(Flatten, CpuOfReservedCoresIsAddedInEveryPhase) {  // W-6
  AllocatedResources r;
  r.tasks = {{"pre", task(1000, 0)}, {"main", task(2000, 0)}, {"post", task(1000, 0)}};
  r.tasks["main"].cpu.reserved_cores = {2, 1};
  r.task_lifecycles = {{"pre", Lifecycle{"prestart", false}}, {"post", Lifecycle{"poststop", false}}};
  const FlatResources use = flatten(r);
  EXPECT_EQ(use.cpu_mhz, 3000);
  EXPECT_EQ(use.cores, (std::vector<std::uint16_t>{1, 2}));
}

TEST(Flatten, SumsAnUnlimitedMemoryMaximumAsANumber) {  // W-6
  AllocatedResources r;
  r.tasks = {{"a", task(0, 256, -1)}, {"b", task(0, 128, 0)}};
  const FlatResources use = flatten(r);
  EXPECT_EQ(use.memory_mb, 384);
  EXPECT_EQ(use.memory_max_mb, 127);
}

TEST(Flatten, MergesNetworksByDeviceAndCountsASidecarTwice) {  // R-RANK-514, 515
  AllocatedResources r;
  r.tasks = {{"side", task(0, 0)}, {"web", task(0, 0)}};
  r.task_lifecycles = {{"side", Lifecycle{"prestart", true}}};
  r.tasks["side"].networks.resize(1);
  r.tasks["side"].networks[0].device = "eth0";
  r.tasks["side"].networks[0].mbits = 10;
  r.tasks["web"].networks.resize(1);
  r.tasks["web"].networks[0].device = "eth0";
  r.tasks["web"].networks[0].mbits = 5;
  r.shared.networks.resize(1);
  r.shared.networks[0].mbits = 1;
  const auto networks = flatten_networks(r);
  ASSERT_EQ(networks.size(), 2U);
  EXPECT_EQ(networks[0].mbits, 25);
  EXPECT_EQ(networks[1].device, "");
}

TEST(NodeCanonical, SynthesisesATopologyFromTheLegacyMirror) {  // R-MODEL-432
  Node node;
  node.node_resources.emplace();
  node.node_resources->cpu = {4001, 4, {}};
  canonicalize(node);
  const Topology* topology = topology_of(node);
  ASSERT_TRUE(topology);
  ASSERT_EQ(topology->cores.size(), 4U);
  EXPECT_EQ(topology->cores[3].guess_speed, 1000U);
  EXPECT_EQ(total_compute_mhz(*topology), 4001U);
  EXPECT_EQ(topology->override_withhold_compute, ~std::uint64_t{0});  // 4 x 1000 - 4001, unsigned
  EXPECT_EQ(node.node_pool, "default");
  EXPECT_EQ(node.scheduling_eligibility, "eligible");
}

TEST(NodeCanonical, CapacityCountsDisabledCores) {  // R-MODEL-433, 436
  Node node;
  auto& topology = node.node_resources.emplace().processors.emplace().topology.emplace();
  topology.cores.resize(2);
  topology.cores[0].base_speed = 1000;
  topology.cores[1].id = 1;
  topology.cores[1].max_speed = 2000;
  topology.cores[1].disable = true;
  EXPECT_EQ(capacity(node).cpu_mhz, 3000);
  EXPECT_EQ(capacity(node).cores, std::vector<std::uint16_t>{0});
  node.reserved_resources.emplace();
  node.reserved_resources->cpu = {500, {0}};
  EXPECT_EQ(available(node).cpu_mhz, 2500);
  EXPECT_TRUE(available(node).cores.empty());
}

struct RefusedNode {
  const char* name;
  void (*spoil)(Node&);
  const char* line;
};
class CheckNode : public ::testing::TestWithParam<RefusedNode> {};
TEST_P(CheckNode, RefusesInOneLine) {
  Node node;
  node.node_resources.emplace();
  ASSERT_TRUE(check_node(node));
  GetParam().spoil(node);
  const auto done = check_node(node, "n.json", "/0");
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().line(), GetParam().line);
}
INSTANTIATE_TEST_SUITE_P(
    Nodes, CheckNode,
    ::testing::Values(
        RefusedNode{"without_resources", [](Node& n) { n.node_resources.reset(); },
                    "n.json:/0/NodeResources: a node must have NodeResources; export it as GET /v1/node/:id"},
        RefusedNode{"unsorted_cores",
                    [](Node& n) { n.node_resources->processors.emplace().topology.emplace().cores.resize(2); },
                    "n.json:/0/NodeResources/Processors/Topology/Cores/1/ID: core 0 follows core 0; list the cores in "
                    "ascending order of their ids"},
        RefusedNode{"dynamic_bound", [](Node& n) { n.node_resources->max_dynamic_port = 65536; },
                    "n.json:/0/NodeResources/MaxDynamicPort: 65536 is no port; use a value up to 65535"},
        RefusedNode{"port_65536",
                    [](Node& n) { n.reserved_resources.emplace().networks.reserved_host_ports = "22,65000-65536"; },
                    "n.json:/0/ReservedResources/Networks/ReservedHostPorts: reserves port 65536, which does not "
                    "exist; use values from 1 to 65535"},
        RefusedNode{"csi_plugin", [](Node& n) { n.csi_node_plugins["ebs"].emplace(); },
                    "n.json:/0/CSINodePlugins/ebs: the plugin has no NodeInfo; add NodeInfo or leave the plugin out"}),
    [](const auto& test) { return std::string(test.param.name); });

std::vector<std::uint32_t> ports_of(std::string_view text) {
  std::vector<std::uint32_t> out;
  const auto ranges = parse_port_ranges(text);
  if (!ranges) return out;
  for (const PortRange range : *ranges)
    for (std::uint32_t port = range.begin; port <= range.end; ++port) out.push_back(port);
  return out;
}

TEST(PortRanges, KeepOrderAndRepetitions) {  // W-13
  EXPECT_EQ(ports_of("10,12-14,16"), (std::vector<std::uint32_t>{10, 12, 13, 14, 16}));
  EXPECT_EQ(ports_of("1-3,2-4"), (std::vector<std::uint32_t>{1, 2, 3, 2, 3, 4}));
  EXPECT_TRUE(parse_port_ranges("")->empty());
  EXPECT_EQ(ports_of("65536").size(), 1U);  // allowed by the text, refused on a node (R-MODEL-473)
  for (const char* text : {"0", "3-1", "-1", "80 - 90", "1-65537", ",", "1--2", "+1"})
    EXPECT_FALSE(parse_port_ranges(text)) << text;
}

TEST(PortRanges, RefuseMoreThan65536Entries) {
  EXPECT_TRUE(parse_port_ranges("1-65536,1"));  // a range counts end - start
  EXPECT_EQ(parse_port_ranges("1-65536,1,1").error(), "maximum of 65536 ports can be reserved");
}

TEST(PortRanges, AnyTextIsRangesWithinBoundsOrAnError) {
  constexpr std::uint32_t kSeed = 472;
  std::mt19937 random(kSeed);
  constexpr std::string_view kAlphabet = "0123456789,-- \t\n65536a";
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (std::uint32_t length = random() % 14; length > 0; --length) text += kAlphabet[random() % kAlphabet.size()];
    const auto ranges = parse_port_ranges(text);
    if (!ranges) {
      EXPECT_FALSE(ranges.error().empty());
      continue;
    }
    std::string again;  // the ranges in plain form, which must give the same ports
    for (const PortRange range : *ranges) {
      ASSERT_TRUE(range.begin >= 1 && range.begin <= range.end && range.end <= 65536)
          << "seed " << kSeed << " " << text;
      if (!again.empty()) again += ',';
      again += std::to_string(range.begin) + "-" + std::to_string(range.end);
    }
    EXPECT_EQ(*parse_port_ranges(again), *ranges) << "seed " << kSeed << " " << text;
    EXPECT_EQ(ranges->size(), text.empty() ? 0 : base::split(text, ',').size());
  }
}

}  // namespace
}  // namespace berth::model
