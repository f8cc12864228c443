// Lower bounds and searches compared with exhaustive packing of tiny problems.
#include "compare/sizing.h"

#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <random>

namespace berth::compare {
namespace {

using sim::PackingArrival;
using sim::PackingProblem;
using strategy::kCpu;
using strategy::kGpu;
using strategy::kMemory;
using strategy::TaskClass;

/// Fewest bins, by trying every bin for every item.
std::uint64_t fewest_bins(const std::vector<std::int64_t>& items, std::int64_t capacity) {
  std::size_t best = items.size();
  std::vector<std::int64_t> bins;
  const std::function<void(std::size_t)> place = [&](std::size_t i) {
    if (bins.size() >= best && i < items.size()) return;
    if (i == items.size()) {
      best = std::min(best, bins.size());
      return;
    }
    for (std::size_t b = 0; b < bins.size(); ++b)
      if (bins[b] + items[i] <= capacity) {
        bins[b] += items[i];
        place(i + 1);
        bins[b] -= items[i];
      }
    bins.push_back(items[i]);
    place(i + 1);
    bins.pop_back();
  };
  place(0);
  return best;
}

struct BoundCase {
  const char* name;
  std::vector<packing::SizeCount> items;
  std::uint64_t dual;
};
TEST(NodeBounds, AgreeWithValuesComputedByHand) {  // bins of 10
  const BoundCase cases[] = {
      {"nothing", {}, 0},
      {"over half", {{6, 3}}, 3},                // no two in one bin
      {"u_2", {{4, 5}}, 3},                      // two to a bin: u_2(0.4) = 1/2
      {"exact halves", {{5, 4}}, 2},             //
      {"thirds", {{3, 4}, {1, 0}}, 2},           // three to a bin
      {"large and small", {{7, 2}, {4, 3}}, 4},  // the 4s do not fit into a bin with a 7, and two of them share a bin
      {"full", {{10, 7}}, 7},
  };
  for (const BoundCase& c : cases) {
    EXPECT_EQ(packing::dual_feasible_bound(c.items, 10), c.dual) << c.name;
  }
}

TEST(NodeBounds, NeverExceedTheOptimum) {
  std::mt19937_64 random(11);
  std::size_t tight = 0;
  constexpr int kRounds = 400;
  for (int round = 0; round < kRounds; ++round) {
    const auto capacity = static_cast<std::int64_t>(6 + random() % 25);
    std::vector<std::int64_t> items(1 + random() % 8);
    std::vector<packing::SizeCount> counted;
    for (std::int64_t& item : items) {
      item = 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(capacity));
      counted.push_back({item, 1});
    }
    const std::uint64_t optimum = fewest_bins(items, capacity), dual = packing::dual_feasible_bound(counted, capacity);
    ASSERT_LE(dual, optimum) << "round " << round;
    const auto volume = static_cast<std::uint64_t>(std::accumulate(items.begin(), items.end(), std::int64_t{0}));
    ASSERT_LE(volume, dual * static_cast<std::uint64_t>(capacity)) << "round " << round;
    tight += dual == optimum;
  }
  EXPECT_GT(tight, kRounds * 9 / 10);
}

/// Tasks in cpu, memory and parts of GPUs on equal nodes.
PackingProblem small_problem(std::uint64_t seed, std::size_t tasks) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t n) { return static_cast<std::int32_t>(random() % n); };
  PackingProblem out;
  out.nodes.assign(3, {{10, 10, 0, 0}, 1, 2});
  out.node_classes.assign(3, "n");
  out.models = {"", "T4"};
  for (std::size_t i = 0; i < tasks; ++i) {
    TaskClass task;
    task.ask = {1 + below(6), 1 + below(6), 0, 0};
    if (below(3) == 0) task.gpus = 1, task.gpu_milli = below(2) == 0 ? 600 : 300;
    if (below(6) == 0) task.gpus = 2, task.gpu_milli = 1000;
    out.classes.push_back(task);
    out.arrivals.push_back({.due_ns = 0,
                            .run_time_ns = sim::kNeverEnds,
                            .task = static_cast<strategy::ClassId>(i),
                            .count = 1,
                            .job = static_cast<std::uint32_t>(i)});
  }
  out.jobs = static_cast<std::uint32_t>(tasks);
  return out;
}

/// True if `n` nodes hold the workload, by trying every node and every device for every task.
bool packs(const PackingProblem& problem, std::uint64_t n) {
  struct Left {
    std::int32_t cpu = 10, memory = 10, devices[2] = {1000, 1000};
  };
  std::vector<Left> nodes(n);
  const std::function<bool(std::size_t)> place = [&](std::size_t i) {
    if (i == problem.arrivals.size()) return true;
    const TaskClass& task = problem.classes[problem.arrivals[i].task];
    for (Left& node : nodes) {
      if (node.cpu < task.ask[kCpu] || node.memory < task.ask[kMemory]) continue;
      for (int first = 0; first < (task.gpus == 1 ? 2 : 1); ++first) {
        const Left before = node;
        bool fits = true;
        for (int device = 0; device < 2; ++device) {
          if (task.gpus == 0 || (task.gpus == 1 && device != first)) continue;
          node.devices[device] -= task.gpu_milli;
          fits &= node.devices[device] >= 0;
        }
        node.cpu -= task.ask[kCpu], node.memory -= task.ask[kMemory];
        if (fits && place(i + 1)) return true;
        node = before;
      }
      if (node.cpu == 10 && node.memory == 10) break;  // empty nodes are equal
    }
    return false;
  };
  return place(0);
}

TEST(MinimumNodes, LieBetweenTheBoundAndTheResultOfExhaustiveSearch) {
  std::size_t optimal = 0, all = 0;
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    const PackingProblem problem = small_problem(seed, 7);
    const strategy::Context context = problem.context();
    const std::vector<std::uint32_t> nodes = {0, 1, 2};
    std::uint64_t optimum = 1;
    while (!packs(problem, optimum)) ++optimum;
    const packing::NodeBound bound = packing::bound_nodes(problem, nodes, false);
    EXPECT_LE(bound.nodes(), optimum) << "seed " << seed << ": " << bound.by();
    for (const char* name : {"first-fit", "best-fit", "worst-fit", "tetris", "fgd", "random"}) {
      const strategy::StrategySpec spec{name, {}};
      const auto found = smallest_cluster(problem, context, nodes, bound, false, 1, strategy::registry(), spec);
      ASSERT_TRUE(found) << found.error().line();
      EXPECT_GE(found->nodes, optimum) << name << " seed " << seed;
      // Every size in turn, from one node on.
      const auto holds = [&](std::uint64_t n) {
        std::vector<std::uint32_t> order(n, 0);
        const auto run = packing::replay_packing(problem, context, order, {.seed = 1}, strategy::registry(), spec);
        return run->placed == problem.asked();
      };
      std::uint64_t least = 1;
      while (!holds(least)) ++least;
      EXPECT_EQ(found->nodes, least) << name << " seed " << seed;
      optimal += found->nodes == optimum, ++all;
    }
  }
  EXPECT_GT(optimal, all / 3);
}

TEST(MinimumNodes, CountTasksThatRunAtTheSameTime) {
  PackingProblem problem = small_problem(1, 0);
  TaskClass whole, part;
  whole.ask = {10, 10, 0, 0};
  part.ask = {1, 1, 0, 0}, part.gpus = 1, part.gpu_milli = 600;
  problem.classes = {whole, part};
  problem.arrivals = {{.due_ns = 0, .run_time_ns = 5, .task = 0, .count = 2, .job = 0},
                      {.due_ns = 5, .run_time_ns = 5, .task = 0, .count = 3, .job = 1},
                      {.due_ns = 20, .run_time_ns = 5, .task = 1, .count = 7, .job = 2}};
  problem.jobs = 3;
  const std::vector<std::uint32_t> nodes = {0, 1, 2};
  const auto bound = packing::bound_nodes(problem, nodes, true);
  EXPECT_EQ(bound.by_volume[kCpu], 3U);
  EXPECT_EQ(bound.by_volume[kGpu], 3U);  // 4,200 of 2,000 each
  EXPECT_EQ(bound.by_devices, 4U);       // no two of 600 on one device
  EXPECT_EQ(bound.by(), "gpu devices");
  const auto found =
      smallest_cluster(problem, problem.context(), nodes, bound, true, 1, strategy::registry(), {"best-fit", {}});
  EXPECT_EQ(found->nodes, 4U);
  problem.arrivals[2].distinct_hosts = true;
  EXPECT_EQ(packing::bound_nodes(problem, nodes, true).by(), "distinct hosts");
  EXPECT_EQ(smallest_cluster(problem, problem.context(), nodes, packing::bound_nodes(problem, nodes, true), true, 1,
                             strategy::registry(), {"best-fit", {}})
                ->nodes,
            7U);
  // Without departures 5 nodes are full of the first two.
  EXPECT_EQ(packing::bound_nodes(problem, nodes, false).by_volume[kCpu], 6U);
  problem.classes[0].ask[kCpu] = 11;
  EXPECT_NE(smallest_cluster(problem, problem.context(), nodes, bound, true, 1, strategy::registry(), {"best-fit", {}})
                ->impossible.find("5 of 12 tasks"),
            std::string::npos);
  problem.arrivals.clear();
  EXPECT_EQ(smallest_cluster(problem, problem.context(), nodes, packing::bound_nodes(problem, nodes, true), true, 1,
                             strategy::registry(), {"best-fit", {}})
                ->nodes,
            0U);
}

TEST(MinimumNodes, OfOneClassHoldOnlyTasksThatMayRunThere) {
  PackingProblem problem;
  problem.models = {""};
  problem.nodes = {{{10, 10, 0, 0}, 0, 0}, {{20, 20, 0, 0}, 0, 0}, {{10, 10, 0, 0}, 0, 0}};
  problem.node_classes = {"a", "b", "a"};
  TaskClass anywhere, second;
  anywhere.ask = {5, 5, 0, 0};
  second = anywhere;
  second.eligible = {0b100};  // node 2 only
  problem.classes = {anywhere, second};
  problem.load = {{1, 0}, {1, 0}};
  problem.arrivals = {{.due_ns = 3, .run_time_ns = 1, .task = 1, .count = 4, .job = 0}};
  problem.jobs = 1;
  const PackingProblem only = only_class(problem, "a");
  ASSERT_EQ(only.nodes.size(), 2U);
  EXPECT_EQ(only.classes[1].eligible, std::vector<std::uint64_t>{0b10});
  ASSERT_EQ(only.arrivals.size(), 2U);
  EXPECT_EQ(only.arrivals[0].count, 2U);  // arrivals that were there before come first
  EXPECT_EQ(only.asked(), 6U);
  // Every second task requests 20 MHz of node 2 and its copies: at least 4 nodes if tasks were divisible.
  EXPECT_EQ(packing::bound_nodes(only, std::vector<std::uint32_t>{0, 1}, false).by(), "eligible nodes");
  EXPECT_EQ(packing::bound_nodes(only, std::vector<std::uint32_t>{0, 1}, false).nodes(), 4U);
  // Copies of node 2 are every second one: 4 nodes for the four tasks, and room enough for the other two.
  const std::vector<std::uint32_t> nodes = {0, 1};
  const auto found = smallest_cluster(only, only.context(), nodes, packing::bound_nodes(only, nodes, false), false, 1,
                                      strategy::registry(), {"first-fit", {}});
  EXPECT_EQ(found->nodes, 4U);
  const PackingProblem b = only_class(problem, "b");
  EXPECT_FALSE(smallest_cluster(b, b.context(), {0}, packing::bound_nodes(b, std::vector<std::uint32_t>{0}, false),
                                false, 1, strategy::registry(), {"first-fit", {}})
                   ->impossible.empty());
}

TEST(MinimumNodes, SortingByDecreasingSizeHelpsFirstFit) {  // R-STRAT-707: 4 4 4 6 6 6 by arrival: 4+4, 4+6, 6, 6
  PackingProblem problem = small_problem(1, 0);
  TaskClass small, large;
  small.ask = {4, 1, 0, 0}, large.ask = {6, 1, 0, 0};
  problem.classes = {small, large};
  problem.arrivals = {{.task = 0, .count = 3, .job = 0}, {.task = 1, .count = 3, .job = 1}};
  problem.jobs = 2;
  const std::vector<std::uint32_t> nodes = {0, 1, 2};
  const auto nodes_needed = [&] {
    return smallest_cluster(problem, problem.context(), nodes, packing::bound_nodes(problem, nodes, false), false, 1,
                            strategy::registry(), {"first-fit", {}})
        ->nodes;
  };
  EXPECT_EQ(nodes_needed(), 4U);
  sort_offline(problem, strategy::OfflineOrder::sum);
  EXPECT_EQ(problem.arrivals[0].task, 1U);
  EXPECT_EQ(nodes_needed(), 3U);
}

TEST(Capacity, IsTheSumOfWhatFitsOnEachNode) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 30; ++round) {
    const PackingProblem problem = small_problem(static_cast<std::uint64_t>(round) + 100, 4);
    TaskClass task;
    task.ask = {1 + static_cast<std::int32_t>(random() % 4), 1, 0, 0};
    if (round % 2 == 0) task.gpus = 1, task.gpu_milli = 400;
    for (const char* name : {"first-fit", "worst-fit", "random"}) {
      const strategy::StrategySpec spec{name, {}};
      strategy::Fleet fleet{std::span<const strategy::Fleet::NodeSpec>{}};
      const auto run = packing::replay_packing(problem, problem.context(), {0, 1, 2}, {.seed = 1, .after = &fleet},
                                               strategy::registry(), spec);
      ASSERT_TRUE(run);
      std::uint64_t expected = 0;  // equal tasks: how many fit on a node does not depend on the order
      for (strategy::Row row = 0; row < 3; ++row) {
        const strategy::Node node = fleet.node(row);
        std::int32_t fits = std::min(node.free(kCpu) / task.ask[kCpu], node.free(kMemory) / task.ask[kMemory]);
        if (task.gpus > 0) {
          std::int32_t parts = 0;
          for (const std::int16_t free : node.devices) parts += free / task.gpu_milli;
          fits = std::min(fits, parts);
        }
        expected += static_cast<std::uint64_t>(fits);
      }
      const auto more =
          packing::measure_capacity(problem, problem.context(), fleet, &task, 1, strategy::registry(), spec);
      EXPECT_EQ(more->fitted, expected) << name << " round " << round;
      const auto drawn =
          packing::measure_capacity(problem, problem.context(), fleet, nullptr, 1, strategy::registry(), spec, 5);
      EXPECT_GE(drawn->fitted, drawn->until_first_miss);
    }
  }
}

TEST(Capacity, TaskIsReadStrictly) {
  const auto task = parse_task("cpu=1000, memory=512,gpus=2");
  ASSERT_TRUE(task) << task.error().line();
  EXPECT_EQ(task->ask[kCpu], 1000);
  EXPECT_EQ(task->gpu_milli, 1000);
  for (const char* bad : {"", "cpu", "cpu=", "cpu=x", "cpu=-1", "cup=1", "cpu=1,cpu=2", "memory=0", "gpu-milli=5",
                          "gpus=1,gpu-milli=1001", "gpus=2,gpu-milli=500", "gpus=65", "cpu=99999999999"})
    EXPECT_FALSE(parse_task(bad)) << bad;
}

}  // namespace
}  // namespace berth::compare
