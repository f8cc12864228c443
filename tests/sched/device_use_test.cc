// What is remembered of the use of devices is what entering every allocation of the node gives.
#include "sched/source/device_use.h"

#include <gtest/gtest.h>

#include <random>

#include "sched/small_world.h"
#include "tables/commit.h"

namespace berth::sched {
namespace {

constexpr std::uint32_t kNodes = 4, kInstances = 6;

/// The use counts of the node's instances, from its allocations.
std::vector<std::uint32_t> counted(const tables::Snapshot& state, tables::NodeRow row,
                                   rank::DeviceAccounter accounter) {
  for (tables::AllocRow a = state.nodes.use[row].alloc_head; a != tables::kNoRow; a = state.allocs.next_on_node[a])
    for (const auto& [name, task] : state.allocs.shape_of(a).resources->tasks)
      for (const model::AllocatedDevice& device : task.devices) accounter.add(device);
  std::vector<std::uint32_t> out;
  accounter.read_use_counts(out);
  return out;
}

TEST(DeviceUse, FollowsTheState) {  // R-MODEL-522
  SmallWorld world;
  for (std::uint32_t i = 0; i < kNodes; ++i) {
    model::NodeDevice device;
    device.vendor = std::string("nvidia"), device.type = std::string("gpu"), device.name = std::string("t4");
    for (std::uint32_t k = 0; k < kInstances; ++k)
      device.instances.push_back({"gpu-" + std::to_string(k), true, "", {}});
    world.add_node().node_resources->devices.push_back(device);
  }
  const auto job = SmallWorld::job("service", 40);
  world.store(job);
  std::mt19937 random(11);
  for (std::uint32_t i = 0; i < 40; ++i) {
    model::AllocatedDevice held{"nvidia", "gpu", "t4", {}};
    for (std::uint32_t k = 0; k < 1 + random() % 3; ++k)
      held.device_ids.push_back("gpu-" + std::to_string(random() % kInstances));
    world.add(job, random() % kNodes, i, i % 5 == 0 ? "complete" : "running")
        .allocated_resources->tasks["t"]
        .devices.push_back(held);
  }
  tables::StateStore store;
  store.load(world.state);
  DeviceUse use;
  int known = 0, changed = 0;
  for (int round = 0; round < 200; ++round) {
    const tables::SnapshotRef state = store.snapshot();
    for (int look = 0; look < 3; ++look) {
      const tables::NodeRow row(static_cast<std::uint32_t>(random() % kNodes));
      const rank::DeviceAccounter unused(state->nodes.fixed->spec[row]->node.node_resources->devices);
      rank::DeviceAccounter accounter = unused;
      const std::vector<std::uint32_t> expected = counted(*state, row, unused);
      if (use.load(*state, row, accounter)) {
        std::vector<std::uint32_t> got;
        accounter.read_use_counts(got);
        EXPECT_EQ(got, expected) << "round " << round;
        ++known;
      } else {
        accounter.set_use_counts(expected);
        use.keep(row, accounter);
        ++changed;
      }
    }
    if (round % 2 == 0) continue;
    tables::Commit commit = store.begin_commit(static_cast<std::uint64_t>(2000 + round));
    commit.set_client_status(tables::AllocRow(static_cast<std::uint32_t>(random() % 40)),
                             random() % 2 ? tables::Client::running : tables::Client::complete);
  }
  EXPECT_GT(known, 100);
  EXPECT_GT(changed, 20);

  tables::StateStore other;  // another state with a log of its own
  world.state.allocs.resize(5);
  other.load(world.state);
  rank::DeviceAccounter accounter(world.state.nodes[0].node_resources->devices);
  EXPECT_FALSE(use.load(*other.snapshot(), tables::NodeRow(0), accounter));
}

}  // namespace
}  // namespace berth::sched
