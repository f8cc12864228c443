// What is remembered of the use of devices is what entering every allocation of the node gives.
#include "sched/source/device_use.h"

#include <gtest/gtest.h>

#include <random>

#include "model/codec/codec.h"
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

TEST(DeviceUse, CountsDecideLikeInstances) {  // R-RANK-631 to 637, 654
  std::size_t placed = 0, failed = 0, with_affinities = 0;
  std::uint64_t by_counts = 0, step_by_step = 0;
  for (std::uint32_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const auto any = [&](std::uint32_t least, std::uint32_t most) { return least + random() % (most - least + 1); };
    SmallWorld world;
    world.exhaustive = seed % 2 == 0;
    for (std::uint32_t i = 0; i < 12; ++i) {
      model::Node& node = world.add_node();
      for (const char* name : {"a100", "h100", "t4"}) {
        if (any(0, 2) == 0) continue;
        model::NodeDevice& device = node.node_resources->devices.emplace_back();
        device.vendor = std::string("nvidia"), device.type = std::string("gpu"), device.name = std::string(name);
        device.attributes["memory"] = model::Attribute{.int_value = *name == 't' ? 16 : 80};
        for (std::uint32_t k = any(1, 5); k > 0; --k)
          device.instances.push_back({name + std::to_string(k), any(0, 5) != 0, "", {}});
      }
    }
    const auto other = SmallWorld::job("service", 20);
    for (std::uint32_t i = 0; i < 20; ++i) {
      model::Allocation& alloc = world.add(other, any(0, 11), i);
      const char* name = any(0, 1) == 0 ? "a100" : "t4";
      alloc.allocated_resources->tasks["t"].devices.push_back(
          {"nvidia", "gpu", name, {name + std::to_string(any(1, 5))}});
    }
    world.store(other);
    const auto job = SmallWorld::job("service", any(1, 6));
    job->id = job->name = world.eval.job_id = "asking";
    model::TaskGroup& group = job->task_groups.front();
    if (any(0, 1) == 0) group.tasks.emplace_back(group.tasks.front()).name = "u";
    for (model::Task& task : group.tasks)
      for (std::uint32_t i = any(1, 3); i > 0; --i) {
        model::RequestedDevice& request = task.resources->devices.emplace_back();
        request.name = any(0, 2) == 0 ? "nvidia/gpu/t4" : "gpu";
        request.count = any(1, 2);
        if (any(0, 3) == 0)
          request.constraints.push_back({.ltarget = "${device.attr.memory}", .rtarget = "20", .operand = ">"});
        for (std::uint32_t k = any(0, 2); k > 0; --k, ++with_affinities)
          request.affinities.push_back({.ltarget = "${device.model}",
                                        .rtarget = any(0, 1) == 0 ? "a100" : "t4",
                                        .operand = "=",
                                        .weight = static_cast<std::int8_t>(any(0, 1) == 0 ? 60 : -40)});
      }
    world.store(job);
    std::string decided[2];
    for (const bool by_columns : {true, false}) {
      world.sources = by_columns ? EnabledSources() : EnabledSources::none();
      world.run();
      for (const model::Allocation& alloc : world.placed()) decided[by_columns] += json::to_text(model::to_json(alloc));
      decided[by_columns] += json::to_text(model::to_json(world.updated));
      (by_columns ? by_counts : step_by_step) += world.paths().options;
    }
    ASSERT_EQ(decided[1], decided[0]);
    placed += world.result.plan.allocs.size(), failed += world.result.any_failed();
  }
  EXPECT_GT(placed, 200U);
  EXPECT_GT(failed, 20U);
  EXPECT_GT(with_affinities, 100U);
  EXPECT_LT(by_counts * 2, step_by_step) << "nodes that both ways look at step by step: those the plan has changed";
}

}  // namespace
}  // namespace berth::sched
