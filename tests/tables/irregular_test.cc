// The irregular byte of a node and its port profile: examples, and random commits compared with a full computation.
#include "tables/irregular.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "support/cluster_objects.h"
#include "tables/check.h"
#include "tables/commit.h"

namespace berth::tables {
namespace {

std::string numbered_id(std::uint32_t number) {
  std::string digits = std::to_string(number);
  return "00000000-0000-0000-0000-" + std::string(12 - digits.size(), '0') + digits;
}

/// Two addresses of the host network `default`, and eight cores, of which core 0 is reserved.
model::Node ported_node(std::uint32_t number) {
  model::Node node = testing::make_node({.id = numbered_id(number)});
  auto& resources = *node.node_resources;
  auto& network = resources.node_networks.emplace().emplace_back();
  network.mode = "host", network.device = "eth0";
  for (const char* last : {"1", "2"})
    network.addresses.push_back({"ipv4", "default", "10.0." + std::to_string(number) + "." + last, "", ""});
  auto& cores = resources.processors.emplace().topology.emplace().cores;
  for (std::uint16_t core = 0; core < 8; ++core) cores.emplace_back().id = core;
  node.reserved_resources.emplace().cpu.reserved_cpu_cores = {0};
  return node;
}

model::AllocatedPort held_port(std::int64_t value, const std::string& address, bool shared = false) {
  model::AllocatedPort out;
  out.label = "p", out.value = value, out.host_ip = address, out.ignore_collision = shared;
  return out;
}

struct IrregularWorld {
  StateStore store;
  std::uint64_t index = 1;
  std::uint32_t allocs = 0;
  explicit IrregularWorld(const std::vector<model::Node>& nodes) {
    model::ClusterState state;
    state.nodes = nodes;
    store.load(state);
  }
  AllocRow start(const std::string& node, const std::vector<model::AllocatedPort>& ports,
                 const std::vector<std::uint16_t>& cores = {}) {
    model::Allocation alloc = testing::make_alloc({.id = numbered_id(1000 + ++allocs), .node_id = node});
    alloc.allocated_resources->shared.ports = ports;
    if (!cores.empty()) alloc.allocated_resources->tasks["t"].cpu.reserved_cores = cores;
    return store.begin_commit(++index).insert_alloc(alloc);
  }
  void end(AllocRow row) { store.begin_commit(++index).set_client_status(row, Client::complete); }
  [[nodiscard]] std::uint32_t bits(NodeRow row = NodeRow(0)) const { return store.current().nodes.use[row].irregular; }
  [[nodiscard]] std::uint32_t conflicts() const { return store.current().nodes.nodes_with_port_conflict; }
  [[nodiscard]] std::string problem() const {
    const std::vector<std::string> all = check_node_table(store.current());
    return all.empty() ? "" : all.front();
  }
};

TEST(Irregular, MarksTwoHoldersOfOnePort) {  // R-RANK-607
  IrregularWorld world({ported_node(1)});
  const std::string node = numbered_id(1);
  const AllocRow first = world.start(node, {held_port(80, "10.0.1.1")});
  world.start(node, {held_port(80, "10.0.1.2")});
  EXPECT_EQ(world.bits(), 0U) << "on another address";
  const AllocRow second = world.start(node, {held_port(80, "10.0.1.1")});
  EXPECT_EQ(world.bits(), kPortsCollide);
  EXPECT_EQ(world.conflicts(), 1U);
  world.end(first);
  EXPECT_EQ(world.bits(), 0U);
  EXPECT_EQ(world.conflicts(), 0U);
  world.start(node, {held_port(80, "10.0.1.1", true)});
  EXPECT_EQ(world.bits(), 0U) << "it shares the port";
  world.end(second);
  EXPECT_EQ(world.problem(), "");
}

TEST(Irregular, MarksUseOfReservedPorts) {  // R-RANK-605, 607, 618
  model::Node node = ported_node(1);
  IrregularWorld world({node});
  world.start(node.id, {held_port(80, "10.0.1.1"), held_port(8080, "10.0.1.1")});
  EXPECT_EQ(world.bits(), 0U);
  node.reserved_resources->networks.reserved_host_ports = "22,8000-9000";
  world.store.begin_commit(++world.index).upsert_node(node);
  EXPECT_EQ(world.bits(), kPortsCollide) << "since it registered again";
  node.reserved_resources->networks.reserved_host_ports = "22";
  world.store.begin_commit(++world.index).upsert_node(node);
  EXPECT_EQ(world.bits(), 0U);
  node.node_resources->node_networks->front().addresses.clear();
  world.store.begin_commit(++world.index).upsert_node(node);
  EXPECT_EQ(world.bits(), kPortsCollide) << "its host network has no address";
  EXPECT_EQ(world.conflicts(), 1U);
  EXPECT_EQ(world.problem(), "");
}

TEST(Irregular, MarksCoresHeldTwiceOrReserved) {  // R-RANK-524, 535
  IrregularWorld world({ported_node(1)});
  const std::string node = numbered_id(1);
  const AllocRow first = world.start(node, {}, {1, 2});
  EXPECT_EQ(world.bits(), 0U);
  const AllocRow second = world.start(node, {}, {2});
  EXPECT_EQ(world.bits(), kCoresIrregular) << "held twice";
  world.end(first);
  EXPECT_EQ(world.bits(), 0U);
  const AllocRow third = world.start(node, {}, {0});
  EXPECT_EQ(world.bits(), kCoresIrregular) << "reserved";
  world.end(third), world.end(second);
  EXPECT_EQ(world.bits(), 0U);
  EXPECT_EQ(world.problem(), "");
}

TEST(Irregular, NodesOfOnePortProfileDifferInAddresses) {
  model::Node other = ported_node(3), named = ported_node(4);
  other.reserved_resources->networks.reserved_host_ports = "22";
  named.node_resources->node_networks->front().addresses[1].alias = "public";
  IrregularWorld world({ported_node(1), ported_node(2), other, named});
  const auto profile = [&](std::uint32_t number) {
    const NodeTable& nodes = world.store.current().nodes;
    return nodes.fixed->port_profile[world.store.find_node(numbered_id(number))];
  };
  EXPECT_EQ(profile(1), profile(2));
  EXPECT_NE(profile(1), profile(3));
  EXPECT_NE(profile(1), profile(4));
  EXPECT_NE(profile(3), profile(4));
  other.reserved_resources->networks.reserved_host_ports = "";
  world.store.begin_commit(2).upsert_node(other);
  EXPECT_EQ(profile(1), profile(3));
  EXPECT_EQ(world.problem(), "");
}

TEST(Irregular, EqualsAFullComputationAfterRandomCommits) {
  std::mt19937 random(607);
  const auto any = [&](std::uint32_t least, std::uint32_t most) { return least + random() % (most - least + 1); };
  std::uint32_t set[2] = {}, cleared[2] = {}, by_list = 0, by_allocs = 0;
  for (int round = 0; round < 40; ++round) {
    std::vector<model::Node> nodes{ported_node(1), ported_node(2)};
    IrregularWorld world(nodes);
    std::vector<AllocRow> running;
    for (int step = 0; step < 60; ++step) {
      const std::uint32_t before[] = {world.bits(NodeRow(0)), world.bits(NodeRow(1))};
      model::Node& node = nodes[any(0, 1)];
      const std::uint32_t kind = any(0, 19);
      if (kind == 0) {
        node.reserved_resources->networks.reserved_host_ports =
            any(0, 2) == 0 ? "" : "82," + std::to_string(any(84, 99));
        node.reserved_resources->cpu.reserved_cpu_cores = {static_cast<std::uint16_t>(any(0, 7))};
        world.store.begin_commit(++world.index).upsert_node(node);
      } else if (kind < 10 && !running.empty()) {
        std::swap(running[any(0, static_cast<std::uint32_t>(running.size() - 1))], running.back());
        if (kind < 3)
          world.store.begin_commit(++world.index).remove_alloc(running.back());
        else
          world.end(running.back());
        running.pop_back();
      } else {
        std::vector<model::AllocatedPort> ports;
        std::vector<std::uint16_t> cores;
        const std::string address = "10.0." + node.id.substr(35) + (any(0, 9) == 0 ? ".2" : ".1");
        for (std::uint32_t i = any(0, 3); i > 0; --i)
          ports.push_back(held_port(any(0, 60) == 0 ? 70'000 : any(80, 110), address, any(0, 15) == 0));
        if (any(0, 3) == 0)
          for (std::uint32_t i = any(1, 2); i > 0; --i)
            cores.push_back(static_cast<std::uint16_t>(any(0, 40) == 0 ? 500 : any(0, 7)));
        std::sort(cores.begin(), cores.end());
        cores.erase(std::unique(cores.begin(), cores.end()), cores.end());
        running.push_back(world.start(node.id, ports, cores));
      }
      ASSERT_EQ(world.problem(), "") << "round " << round << ", step " << step;
      for (std::uint32_t row = 0; row < 2; ++row) {
        const std::uint32_t now = world.bits(NodeRow(row));
        for (std::uint32_t bit = 0; bit < 2; ++bit) {
          set[bit] += (now & ~before[row]) >> bit & 1;
          cleared[bit] += (before[row] & ~now) >> bit & 1;
        }
        if (now != before[row]) ++(world.store.current().nodes.held_ports(NodeRow(row)) ? by_list : by_allocs);
      }
    }
  }
  for (const std::uint32_t count : {set[0], set[1], cleared[0], cleared[1], by_list, by_allocs}) EXPECT_GT(count, 50U);
}

}  // namespace
}  // namespace berth::tables
