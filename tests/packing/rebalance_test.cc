// Tasks that rebalancing moves: by hand, and invariants on random clusters.
#include "packing/rebalance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "strategy/builders.h"

namespace berth::packing {
namespace {

using strategy::DeviceMask;
using strategy::Fleet;
using strategy::kCpu;
using strategy::kGpu;
using strategy::Row;
using strategy::testing::task_of;

using Positions = std::vector<std::uint32_t>;

/// Nodes of 8,000 thousandths of cpu and two devices, and their tasks.
struct Small {
  Fleet fleet;
  std::vector<PlacedTask> placed;
  Positions names;

  explicit Small(std::size_t nodes) : fleet(std::vector<Fleet::NodeSpec>(nodes, {{8'000, 1000, 0, 0}, 0, 2})) {
    names.resize(nodes);
    std::iota(names.begin(), names.end(), 0U);
  }
  void place(Row row, const strategy::TaskClass& task, DeviceMask devices) {
    const strategy::ClassId id = fleet.add_class(task);
    ASSERT_TRUE(fleet.holds(row, task));
    fleet.place(row, id, devices);
    placed.push_back({.row = row, .task = id, .devices = devices});
  }
  Positions choose(RebalanceRule rule, std::size_t budget, const strategy::FragmentTables& tables) const {
    return choose_evictions(rule, fleet, placed, &tables, names, budget);
  }
};

/// Typical tasks request one whole device and 1,000 of cpu: the rest of a device in use is useless to them.
const strategy::FragmentTables& whole_devices_wanted() {
  static const strategy::FragmentTables kTables({{1000, 1, 1000, "", 1, 1.0}}, {""});
  return kTables;
}

TEST(PackingRebalance, MovesTheTaskLeastSimilarToTheFreedAmounts) {  // R-STRAT-832
  Small s(3);
  s.place(0, task_of(4'000, 1, 300), 1);   // after it (1,000 + 4,000, 1,700 + 300): cosine 0.956
  s.place(0, task_of(3'000), 0);           // after it (1,000 + 3,000, 1,700): cosine 0.920
  s.place(1, task_of(5'000, 1, 1000), 1);  // 3,000 of cpu are free: not looked at
  s.place(2, task_of(7'000, 1, 500), 1);   // after it (8,000, 2,000): cosine 0.985
  const auto& tables = whole_devices_wanted();
  EXPECT_EQ(s.choose(RebalanceRule::cosine, 9, tables), (Positions{1, 3}));  // 1,700 free GPU before 1,500
  EXPECT_EQ(s.choose(RebalanceRule::cosine, 1, tables), (Positions{1}));
  s.place(0, task_of(0, 1, 600), 1), s.place(0, task_of(0, 1, 600), 2);  // no device has more than 500 left
  EXPECT_EQ(s.choose(RebalanceRule::cosine, 9, tables), (Positions{3}));
}

TEST(PackingRebalance, MovesTheTaskWithTheGreatestGain) {  // R-STRAT-833, 834
  Small s(4);
  s.place(0, task_of(100, 1, 600), 1);                                       // F 400: 400 once it left
  s.place(1, task_of(100, 1, 300), 1);                                       // F 700 + 800: 700 without this task
  s.place(1, task_of(100, 1, 200), 2);                                       // 800 without that task
  s.place(2, task_of(100, 1, 1000), 1);                                      // F 0: nothing to gain
  s.place(3, task_of(100, 1, 500), 2), s.place(3, task_of(100, 1, 400), 2);  // F 100: neither alone gains anything
  const auto& tables = whole_devices_wanted();
  EXPECT_EQ(s.choose(RebalanceRule::fragments_one, 9, tables), (Positions{2, 0}));
  EXPECT_EQ(s.choose(RebalanceRule::fragments_many, 9, tables), (Positions{2, 1, 0}));
  EXPECT_EQ(s.choose(RebalanceRule::fragments_many, 2, tables), (Positions{2, 1}));
  EXPECT_EQ(s.choose(RebalanceRule::fragments_many, 0, tables), Positions{});
  EXPECT_EQ(choose_evictions(RebalanceRule::fragments_one, s.fleet, s.placed, nullptr, s.names, 9), Positions{});
  // Equal nodes: by name; equal tasks: the one placed first.
  Small equal(2);
  for (const Row row : {0U, 1U}) equal.place(row, task_of(100, 1, 500), 1), equal.place(row, task_of(100, 1, 500), 2);
  equal.names = {1, 0};
  EXPECT_EQ(equal.choose(RebalanceRule::fragments_one, 9, tables), (Positions{2, 0}));
  EXPECT_EQ(equal.choose(RebalanceRule::fragments_many, 9, tables), (Positions{2, 0, 3, 1}));  // F halves each time
}

TEST(PackingRebalance, IsIndependentOfNodeOrderAndContinuesWithALargerBudget) {
  std::mt19937_64 random(3);
  const auto below = [&](std::uint64_t n) { return static_cast<std::int32_t>(random() % n); };
  std::size_t chosen = 0;
  for (int round = 0; round < 20; ++round) {
    Positions places(8);  // row of each node
    std::iota(places.begin(), places.end(), 0U);
    Small here(8), there(8);
    std::shuffle(places.begin(), places.end(), random);
    for (Row node = 0; node < 8; ++node) there.names[places[node]] = node;
    for (int i = 0; i < 24; ++i) {
      const auto node = static_cast<Row>(below(8));
      const auto task = task_of(500 * (1 + below(6)), 1, 100 * (1 + below(7)));
      const strategy::Node state = here.fleet.node(node);
      const DeviceMask device = strategy::part_device(state, task.gpu_milli, strategy::DeviceRule::worst);
      if (state.free(kCpu) < task.ask[kCpu] || device == 0) continue;
      here.place(node, task, device), there.place(places[node], task, device);
    }
    for (const RebalanceInfo& info : rebalance_rules()) {
      SCOPED_TRACE(std::string(info.name) + " round " + std::to_string(round));
      const Positions all = here.choose(info.rule, 99, whole_devices_wanted());
      chosen += all.size();
      EXPECT_EQ(all, there.choose(info.rule, 99, whole_devices_wanted()));
      for (std::size_t budget = 0; budget <= all.size(); ++budget)
        EXPECT_EQ(here.choose(info.rule, budget, whole_devices_wanted()),
                  Positions(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(budget)));
    }
  }
  EXPECT_GT(chosen, 100U);
}

/// A cluster filled by tasks with parts of devices and with whole ones.
sim::PackingProblem problem_of(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t n) { return static_cast<std::int32_t>(random() % n); };
  sim::PackingProblem out;
  out.models = {""};
  for (int i = 0; i < 12; ++i) {
    out.nodes.push_back({{4'000 * (1 + below(6)), 64'000, 0, 0}, 0, static_cast<std::uint16_t>(2 * below(4))});
    out.node_classes.emplace_back("n");
  }
  for (int i = 0; i < 8; ++i)
    out.classes.push_back(task_of(500 * (1 + below(6)), below(3) != 0 ? 1 : 0, 0, 1000 * (1 + below(8))));
  for (strategy::TaskClass& task : out.classes)
    if (task.gpus != 0) task.gpu_milli = below(2) != 0 ? 1000 : 100 * (1 + below(9));
  for (std::uint32_t job = 0; job < 40; ++job) {
    sim::PackingArrival& arrival = out.arrivals.emplace_back();
    arrival.due_ns = job, arrival.job = job, arrival.count = static_cast<std::uint32_t>(1 + below(4));
    arrival.task = static_cast<strategy::ClassId>(below(8)), arrival.distinct_hosts = below(4) == 0;
  }
  out.jobs = 40;
  return out;
}

TEST(PackingRebalance, KeepsItsBudgetAndRepeats) {  // R-STRAT-831
  std::uint64_t evicted = 0, lost = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const sim::PackingProblem problem = problem_of(seed);
    const strategy::Context context = problem.context();
    const auto order = sim::visiting_order(problem.nodes.size(), static_cast<std::int64_t>(seed));
    const auto spec = strategy::registry().parse(seed % 2 == 0 ? "best-fit" : "worst-fit");
    ASSERT_TRUE(spec);
    for (const RebalanceInfo& info : rebalance_rules()) {
      SCOPED_TRACE(std::string(info.name) + " seed " + std::to_string(seed));
      for (const double ratio : {0.0, 0.1, 1.0}) {
        const RebalanceOptions options{.seed = static_cast<std::int64_t>(seed), .ratio = ratio};
        const auto run = replay_rebalance(problem, context, order, options, strategy::registry(), *spec, info.rule);
        ASSERT_TRUE(run);
        EXPECT_LE(run->evicted, static_cast<std::uint64_t>(std::ceil(ratio * static_cast<double>(run->placed))));
        EXPECT_LE(run->again, run->evicted);
        EXPECT_LE(run->moved, run->again);
        if (run->evicted == 0) {
          EXPECT_EQ(run->before.gpu_fragment_percent, run->after.gpu_fragment_percent);
        }
        const auto twice = replay_rebalance(problem, context, order, options, strategy::registry(), *spec, info.rule);
        EXPECT_EQ(run->digest, twice->digest);
        evicted += run->evicted, lost += run->evicted - run->again;
      }
      // One per node by fragments-one and cosine, and always on nodes with devices.
      Fleet fleet{std::span<const Fleet::NodeSpec>{}};
      std::vector<PlacedTask> placed;
      ASSERT_TRUE(replay_packing(problem, context, order, {.seed = 1, .after = &fleet, .placed = &placed},
                                 strategy::registry(), *spec));
      std::vector<int> of_row(fleet.size());
      for (const std::uint32_t v :
           choose_evictions(info.rule, fleet, placed, context.fragments.get(), order, placed.size())) {
        EXPECT_FALSE(fleet.node(placed[v].row).devices.empty());
        ++of_row[placed[v].row];
      }
      if (info.rule == RebalanceRule::fragments_many) continue;
      for (const int count : of_row) EXPECT_LE(count, 1);
    }
  }
  EXPECT_GT(evicted, 0U);
  EXPECT_LT(lost, evicted);
}

}  // namespace
}  // namespace berth::packing
