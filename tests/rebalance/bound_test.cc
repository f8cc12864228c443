// The lower bound compared with every assignment of tiny fleets.
#include "rebalance/bound.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "base/random.h"

namespace berth::rebalance {
namespace {

/// The fewest nodes that any assignment occupies, with at most `moves` allocations elsewhere than now.
std::int64_t fewest(const Fleet& fleet, std::int64_t moves) {
  struct Item {
    std::size_t home;
    Amounts least;
  };
  std::vector<Item> items;
  std::vector<Amounts> free;
  std::vector<std::int64_t> count, foreign(fleet.machines.size());
  for (std::size_t at = 0; at < fleet.machines.size(); ++at) {
    const Machine& machine = fleet.machines[at];
    Amounts left = machine.room;
    for (std::size_t r = 0; r < kResources; ++r) left[r] -= machine.held[r];
    for (const Load& load : machine.loads) {
      items.push_back({at, load.least});
      for (std::size_t r = 0; r < kResources; ++r) left[r] += load.least[r];
    }
    free.push_back(left), count.push_back(machine.staying);
  }
  std::int64_t best = fleet.occupied();
  const std::function<void(std::size_t, std::int64_t)> place = [&](std::size_t item, std::int64_t left) {
    if (item == items.size()) {
      for (std::size_t at = 0; at < free.size(); ++at)
        for (std::size_t r = 0; r < kResources; ++r)
          if (foreign[at] > 0 && free[at][r] < 0) return;  // without any, it may stay as full as it is
      best = std::min<std::int64_t>(best, std::count_if(count.begin(), count.end(), [](auto n) { return n > 0; }));
      return;
    }
    for (std::size_t at = 0; at < fleet.machines.size(); ++at) {
      const int moves_it = at != items[item].home;
      const Machine& machine = fleet.machines[at];
      if (moves_it && (left == 0 || !machine.accepts || machine.part != fleet.machines[items[item].home].part))
        continue;
      for (std::size_t r = 0; r < kResources; ++r) free[at][r] -= items[item].least[r];
      ++count[at], foreign[at] += moves_it;
      place(item + 1, left - moves_it);
      --count[at], foreign[at] -= moves_it;
      for (std::size_t r = 0; r < kResources; ++r) free[at][r] += items[item].least[r];
    }
  };
  place(0, moves);
  return best;
}

/// Up to five nodes in up to two parts with up to seven allocations that may move.
Fleet tiny(base::Random& random) {
  Fleet fleet;
  fleet.parts = 1 + static_cast<std::uint32_t>(random.below(2));
  const std::uint64_t nodes = 2 + random.below(4);
  std::uint64_t loads = 1 + random.below(7);
  for (std::uint64_t at = 0; at < nodes; ++at) {
    Machine machine;
    machine.accepts = random.below(6) != 0;
    machine.part = static_cast<std::uint32_t>(at % fleet.parts);
    for (std::size_t r = 0; r < kResources; ++r) {
      machine.room[r] = static_cast<std::int64_t>(4 + random.below(9));
      fleet.total[r] += machine.room[r];
    }
    if (random.below(6) == 0) machine.staying = 1, machine.held = {1, 1, 1};
    fleet.machines.push_back(machine);
  }
  while (loads-- > 0) {
    Machine& machine = fleet.machines[random.below(nodes)];
    Load load;
    for (std::size_t r = 0; r < kResources; ++r) {
      load.least[r] = static_cast<std::int64_t>(random.below(6));
      machine.held[r] += load.least[r];  // sometimes beyond its room, as after a change of the machine
    }
    machine.loads.push_back(load);
  }
  return fleet;
}

TEST(RebalanceBound, IsNeverAboveTheBestAssignment) {
  base::Random random(7, "bound");
  int exact = 0, limited_exact = 0;
  constexpr int kFleets = 400;
  for (int i = 0; i < kFleets; ++i) {
    const Fleet fleet = tiny(random);
    const std::int64_t best = fewest(fleet, 100);
    const Bound bound = lower_bound(fleet, std::nullopt);
    ASSERT_LE(bound.nodes, best) << "fleet " << i;
    for (std::size_t r = 0; r < kResources; ++r) ASSERT_LE(bound.by_resource[r], bound.by_resources);
    exact += bound.nodes == best;
    const std::int64_t limited = fewest(fleet, 2);
    const Bound with_limit = lower_bound(fleet, 2);
    ASSERT_LE(with_limit.nodes, limited) << "fleet " << i << " with two moves";
    ASSERT_GE(with_limit.nodes, bound.nodes);
    limited_exact += with_limit.nodes == limited;
  }
  // It is of use: of these fleets, whose allocations take up to half a node, it is exact for most.
  EXPECT_GT(exact, kFleets / 2);
  EXPECT_GT(limited_exact, kFleets / 2);
}

/// `count` nodes of this room, each with one load of these amounts.
Fleet alike(std::size_t count, const Amounts& room, const Amounts& least) {
  Fleet fleet;
  fleet.parts = 1;
  for (std::size_t at = 0; at < count; ++at) {
    Machine machine;
    machine.accepts = true, machine.room = room, machine.held = least;
    Load load;
    load.least = least;
    machine.loads.push_back(load);
    for (std::size_t r = 0; r < kResources; ++r) fleet.total[r] += room[r];
    fleet.machines.push_back(machine);
  }
  return fleet;
}

TEST(RebalanceBound, ReportsTheBoundOfEachResource) {
  const Bound bound = lower_bound(alike(10, {100, 100, 100}, {20, 50, 1}), std::nullopt);
  EXPECT_EQ(bound.by_resource, (std::array<std::int64_t, kResources>{2, 5, 1}));
  EXPECT_EQ(bound.nodes, 5);
}

TEST(RebalanceBound, CountsPartitionsAndImmovableAllocations) {
  Fleet fleet = alike(10, {100, 100, 100}, {10, 10, 10});
  EXPECT_EQ(lower_bound(fleet, std::nullopt).nodes, 1);
  fleet.parts = 2;
  for (std::size_t at = 0; at < 5; ++at) fleet.machines[at].part = 1;
  EXPECT_EQ(lower_bound(fleet, std::nullopt).nodes, 2);
  for (std::size_t at = 0; at < 3; ++at) fleet.machines[at].staying = 1;
  EXPECT_EQ(lower_bound(fleet, std::nullopt).nodes, 4);
  EXPECT_EQ(lower_bound(fleet, std::nullopt).pinned, 3);
  EXPECT_EQ(lower_bound(fleet, 4).nodes, 6);
  EXPECT_EQ(lower_bound(fleet, 4).by_moves, 6);
}

TEST(RebalanceBound, IsZeroForAnEmptyCluster) {
  EXPECT_EQ(lower_bound(Fleet(), std::nullopt).nodes, 0);
  Fleet idle = alike(3, {1, 1, 1}, {0, 0, 0});
  EXPECT_EQ(lower_bound(idle, std::nullopt).nodes, 1);  // what takes nothing still has to be somewhere
  for (Machine& machine : idle.machines) machine.loads.clear();
  EXPECT_EQ(lower_bound(idle, std::nullopt).nodes, 0);
}

}  // namespace
}  // namespace berth::rebalance
