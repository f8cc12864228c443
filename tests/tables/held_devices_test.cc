#include "tables/held_devices.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "support/cluster_objects.h"
#include "tables/check.h"
#include "tables/commit.h"
#include "tables/state.h"

namespace berth::tables {
namespace {

std::vector<model::NodeDevice> devices_of(std::size_t t4s, std::size_t a100s) {
  std::vector<model::NodeDevice> out(2);
  for (std::size_t g = 0; g < 2; ++g) {
    out[g].vendor = "nvidia", out[g].type = "gpu", out[g].name = g == 0 ? "t4" : "a100";
    for (std::size_t i = 0; i < (g == 0 ? t4s : a100s); ++i)
      out[g].instances.push_back({out[g].name + "-" + std::to_string(1000 + i), true, "", {}});
  }
  return out;
}

struct Holder {
  std::shared_ptr<const ResourceShape> shape;
  std::set<std::size_t> numbers;
};

/// An allocation that holds the instances of these numbers, `a100` first as in the table, and one that no node has.
Holder holder(const model::DeviceTable& table, std::set<std::size_t> numbers) {
  auto resources = std::make_shared<model::AllocatedResources>();
  auto& devices = resources->tasks["t"].devices;
  for (const model::DeviceTable::Group& group : table.groups) {
    model::AllocatedDevice held{group.device->vendor, group.device->type, group.device->name, {"unknown"}};
    for (const std::size_t number : numbers)
      if (number >= group.first && number < group.first + group.count) held.device_ids.emplace_back(table.ids[number]);
    devices.push_back(held);
  }
  devices.push_back({"amd", "gpu", "other", {"x"}});
  return {make_shape(resources), std::move(numbers)};
}

std::set<std::size_t> listed(const HeldDevices& held) {
  std::set<std::size_t> out;
  held.each([&](std::size_t number) { out.insert(number); });
  return out;
}

TEST(HeldDevices, AreUnknownBeyondTheSize) {
  const std::vector<model::NodeDevice> devices = devices_of(4, 4), many = devices_of(400, 49);
  const model::DeviceTable table = model::DeviceTable::of(devices), large = model::DeviceTable::of(many);
  HeldDevices held;
  const Holder first = holder(table, {0, 5}), second = holder(table, {5});
  held.add(*first.shape, table);
  EXPECT_FALSE(held.unlisted);
  held.add(*second.shape, table);
  EXPECT_TRUE(held.unlisted) << "held twice";
  held.remove(*second.shape, table);
  EXPECT_TRUE(held.unlisted) << "what else is held is not known any more";
  HeldDevices other;
  other.add(*holder(large, {1}).shape, large);
  EXPECT_TRUE(other.unlisted) << "449 instances";
}

TEST(HeldDevices, AgreesWithASet) {
  for (const auto& [t4s, a100s] : {std::pair{3, 5}, std::pair{64, 64}, std::pair{65, 63}, std::pair{400, 48}}) {
    const std::vector<model::NodeDevice> devices =
        devices_of(static_cast<std::size_t>(t4s), static_cast<std::size_t>(a100s));
    const model::DeviceTable table = model::DeviceTable::of(devices);
    std::mt19937 random(3);
    HeldDevices held;
    std::set<std::size_t> taken;
    std::vector<Holder> holders;
    for (int step = 0; step < 500; ++step) {
      ASSERT_FALSE(held.unlisted);
      ASSERT_EQ(listed(held), taken);
      for (const model::DeviceTable::Group& group : table.groups) {
        std::uint32_t free = 0;
        for (std::size_t i = group.first; i < group.first + group.count; ++i) free += taken.count(i) == 0;
        ASSERT_EQ(held.free_of(group), free);
      }
      if (!holders.empty() && random() % 2 == 0) {
        std::swap(holders[random() % holders.size()], holders.back());
        held.remove(*holders.back().shape, table);
        for (const std::size_t number : holders.back().numbers) taken.erase(number);
        holders.pop_back();
        continue;
      }
      std::set<std::size_t> more;
      for (std::size_t i = 1 + random() % 4; i > 0; --i)
        if (const std::size_t number = random() % table.ids.size(); taken.count(number) == 0) more.insert(number);
      taken.insert(more.begin(), more.end());
      holders.push_back(holder(table, more));
      held.add(*holders.back().shape, table);
    }
  }
}

TEST(HeldDevices, AreRenumberedWhenANodeRegistersAgain) {
  model::Node node = testing::make_node();
  node.node_resources->devices = devices_of(3, 2);
  model::Allocation alloc = testing::make_alloc({.node_id = node.id});
  alloc.allocated_resources->tasks["t"].devices.push_back({"nvidia", "gpu", "t4", {"t4-1001", "t4-1002"}});
  model::ClusterState state;
  state.nodes.push_back(node);
  state.allocs.push_back(alloc);
  StateStore store;
  store.load(state);
  const auto held = [&] { return listed(*store.snapshot()->nodes.held_devices(NodeRow(0))); };
  EXPECT_EQ(held(), (std::set<std::size_t>{3, 4}));  // numbers after those of two a100
  node.node_resources->devices.pop_back();
  node.node_resources->devices.front().instances[1].healthy = false;
  store.begin_commit(2).upsert_node(node);
  EXPECT_EQ(held(), (std::set<std::size_t>{1}));
  const SnapshotRef now = store.snapshot();
  EXPECT_TRUE(check_node_table(*now).empty());
  store.begin_commit(3).set_client_status(AllocRow(0), Client::complete);
  EXPECT_EQ(held(), (std::set<std::size_t>{}));
}

/// Until an evicted allocation ends, it and its successor hold the same instances.
TEST(HeldDevices, AreListedAgainAfterADoubleHoldEnds) {
  model::ClusterState state;
  model::Node& node = state.nodes.emplace_back();
  node.id = "00000000-0000-0000-0000-000000000001";
  node.status = "ready";
  node.scheduling_eligibility = "eligible";
  node.node_resources.emplace().devices = devices_of(3, 2);
  for (int i = 0; i < 3; ++i) {
    model::Allocation& alloc = state.allocs.emplace_back();
    alloc.id = "00000000-0000-0000-0000-00000000001" + std::to_string(i);
    alloc.node_id = node.id;
    alloc.client_status = "running";
    const std::string instance = i < 2 ? "t4-1001" : "t4-1002";
    alloc.allocated_resources.emplace().tasks["t"].devices.push_back({"nvidia", "gpu", "t4", {instance}});
  }
  StateStore store;
  store.load(state);
  EXPECT_EQ(store.snapshot()->nodes.held_devices(NodeRow(0)), nullptr);
  for (AllocRow row = 0; row < 2; ++row) {
    store.begin_commit(2 + row).set_client_status(row, Client::complete);
    const SnapshotRef now = store.snapshot();
    ASSERT_NE(now->nodes.held_devices(NodeRow(0)), nullptr);
    EXPECT_EQ(listed(*now->nodes.held_devices(NodeRow(0))),
              row == 0 ? (std::set<std::size_t>{3, 4}) : std::set<std::size_t>{4});
    EXPECT_TRUE(check_node_table(*now).empty());
  }
}

}  // namespace
}  // namespace berth::tables
