#include "strategy/mask_columns.h"

#include <gtest/gtest.h>

#include <bit>
#include <random>

namespace berth::strategy {
namespace {

struct Placed {
  Row row;
  ClassId task;
  DeviceMask devices;
};

DeviceMask first_devices(const Node& node, const TaskClass& task) {
  DeviceMask out = 0;
  for (std::size_t d = 0; d < node.devices.size() && std::popcount(out) < task.gpus; ++d)
    if (node.devices[d] >= task.gpu_milli) out |= static_cast<DeviceMask>(1U << d);
  return out;
}

/// Tasks are placed on random nodes and removed again. After each, masks are what the fleet says of each row.
TEST(MaskColumns, AreWhatTheFleetSaysOfEachRow) {
  constexpr std::size_t kCopies = 3;
  std::uint64_t ones = 0, zeros = 0;
  for (const std::size_t nodes : {1, 15, 16, 17, 63, 64, 65}) {
    std::mt19937_64 random(nodes);
    const auto below = [&](std::int32_t n) {
      return static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(n));
    };
    std::vector<Fleet::NodeSpec> specs;
    for (std::size_t n = 0; n < nodes; ++n)
      specs.push_back({.capacity = {1000 * (1 + below(4)), 1000 * (1 + below(4)), 500, 0},
                       .devices = static_cast<std::uint16_t>(below(5))});
    std::vector<Fleet::NodeSpec> all;
    for (std::size_t copy = 0; copy < kCopies; ++copy) all.insert(all.end(), specs.begin(), specs.end());
    Fleet fleet(all, 2);
    for (int c = 0; c < 12; ++c) {
      TaskClass task;
      task.ask = {below(400), below(400), below(100), 0};
      if (c % 3 != 0 && c % 2 == 0) task.gpus = 1 + below(3), task.gpu_milli = kWholeDevice;
      if (c % 3 != 0 && c % 2 != 0) task.gpus = c % 6 == 5 ? 2 : 1, task.gpu_milli = 100 * (3 + below(6));
      if (c % 4 == 1) {
        task.eligible.resize((all.size() + 63) / 64);
        for (std::size_t n = 0; n < nodes; ++n)  // the same nodes of each copy
          for (std::size_t copy = 0; n % 2 == 0 && copy < kCopies; ++copy)
            task.eligible[(copy * nodes + n) / 64] |= std::uint64_t{1} << ((copy * nodes + n) % 64);
      }
      fleet.add_class(task);
    }
    MaskColumns columns(fleet, kCopies);
    std::vector<Placed> placed;
    std::vector<std::uint8_t> mask(nodes);
    for (int step = 0; step < 600; ++step) {
      const auto id = static_cast<ClassId>(below(12));
      const Row row = static_cast<Row>(random() % std::min<std::size_t>(all.size(), 12));  // so that some are full
      if (fleet.feasible(row, fleet.task_class(id)) && step % 3 != 2) {
        placed.push_back({row, id, first_devices(fleet.node(row), fleet.task_class(id))});
        fleet.place(row, id, placed.back().devices);
      } else if (!placed.empty()) {
        std::swap(placed[random() % placed.size()], placed.back());
        fleet.remove(placed.back().row, placed.back().task, placed.back().devices);
        placed.pop_back();
      }
      for (const Row changed : fleet.changes()) columns.refresh(changed);
      fleet.forget_changes();
      ASSERT_TRUE(fleet.changes().empty());
      const std::size_t copy = random() % kCopies;
      const auto asked = static_cast<ClassId>(below(12));
      const std::vector<std::uint64_t> some((nodes + 63) / 64, random());
      const Exclusion without = step % 4 == 0 ? Exclusion(some) : Exclusion{};
      const bool any = columns.fill(copy, asked, without, mask);
      bool wanted_any = false;
      for (Row r = 0; r < nodes; ++r) {
        const bool wanted =
            fleet.feasible(static_cast<Row>(copy * nodes) + r, fleet.task_class(asked)) && !excluded(without, r);
        ASSERT_EQ(mask[r], wanted ? 1 : 0) << nodes << " nodes, step " << step << ", row " << r;
        wanted_any = wanted_any || wanted;
        ++(wanted ? ones : zeros);
      }
      ASSERT_EQ(any, wanted_any);
    }
  }
  EXPECT_GT(ones, 5000U);
  EXPECT_GT(zeros, 5000U);
}

}  // namespace
}  // namespace berth::strategy
