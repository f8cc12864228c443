// Means over time and regret against slow recomputations from all placements.
#include "packing/fleet_over_time.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "packing/replay.h"
#include "rank/score_fit.h"
#include "sim/packing_problem.h"

namespace berth::packing {
namespace {

using strategy::kCpu;
using strategy::kMemory;

/// Nodes of two shapes, tasks whose cpu and memory differ by a factor of up to 30.
sim::PackingProblem random_problem(std::uint64_t seed, std::size_t nodes, std::size_t arrivals, int sizes) {
  std::mt19937_64 random(seed);
  const auto below = [&](int n) { return static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(n)); };
  sim::PackingProblem out;
  for (std::size_t i = 0; i < nodes; ++i)
    out.nodes.push_back(i % 3 == 0 ? strategy::Fleet::NodeSpec{{9000, 3000, 0, 0}, 0, 0}
                                   : strategy::Fleet::NodeSpec{{4000, 8000, 0, 0}, 0, 0});
  out.node_classes.assign(nodes, "n");
  out.models = {""};
  std::map<std::pair<std::int32_t, std::int32_t>, strategy::ClassId> known;
  std::int64_t due = 5'000'000'000;
  for (std::uint32_t job = 0; job < arrivals; ++job) {
    strategy::TaskClass task;
    task.ask = {100 + 3000 * below(sizes) / sizes, 100 + 3000 * below(sizes) / sizes, 0, 0};
    const auto [at, fresh] =
        known.try_emplace({task.ask[kCpu], task.ask[kMemory]}, static_cast<strategy::ClassId>(out.classes.size()));
    if (fresh) out.classes.push_back(task);
    out.arrivals.push_back({.due_ns = due,
                            .run_time_ns = below(9) == 0 ? sim::kNeverEnds : 1 + below(60) * 1'000'000'000LL,
                            .task = at->second,
                            .count = static_cast<std::uint32_t>(1 + below(3)),
                            .job = job,
                            .distinct_hosts = below(4) == 0});
    due += below(3) * 700'000'000LL;
  }
  out.jobs = static_cast<std::uint32_t>(arrivals);
  return out;
}
std::vector<std::uint32_t> order_of(const sim::PackingProblem& problem) {
  return sim::visiting_order(problem.nodes.size(), 3);
}

FleetOverTime::Missing slow_missing(const sim::PackingProblem& problem, std::int32_t cpu, std::int32_t memory) {
  FleetOverTime::Missing out;
  for (const sim::PackingArrival& a : problem.arrivals) {
    const strategy::Amounts& ask = problem.classes[a.task].ask;
    const double share = a.count / static_cast<double>(problem.asked());
    if (ask[kCpu] <= cpu && ask[kMemory] > memory) out.memory += share;
    if (ask[kCpu] > cpu && ask[kMemory] <= memory) out.cpu += share;
  }
  return out;
}

TEST(FleetOverTime, EqualsAnIntegralOverAllTasks) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const sim::PackingProblem problem = random_problem(seed, 9, 120, 12);
    const auto order = order_of(problem);
    std::vector<PlacedTask> placed;
    const auto run = replay_packing(problem, problem.context(), order, {.departures = true, .placed = &placed},
                                    strategy::registry(), {"best-fit", {}});
    ASSERT_TRUE(run);
    // Every instant at which something changes, from the first arrival to the last.
    const std::int64_t first = problem.arrivals.front().due_ns, last = problem.arrivals.back().due_ns;
    std::set<std::int64_t> instants = {first, last};
    const auto end_of = [&](const sim::PackingArrival& a) {
      return a.run_time_ns == sim::kNeverEnds ? INT64_MAX : a.due_ns + a.run_time_ns;
    };
    for (const sim::PackingArrival& a : problem.arrivals)
      for (const std::int64_t at : {a.due_ns, end_of(a)})
        if (at <= last) instants.insert(at);
    double empty = 0, cpu = 0, memory = 0, cpus = 0, memories = 0;
    for (const auto& node : problem.nodes) cpus += node.capacity[kCpu], memories += node.capacity[kMemory];
    for (auto at = instants.begin(); std::next(at) != instants.end(); ++at) {
      const double weight = static_cast<double>(*std::next(at) - *at) / static_cast<double>(last - first);
      for (strategy::Row row = 0; row < order.size(); ++row) {
        strategy::Amounts free = problem.nodes[order[row]].capacity;
        int tasks = 0;
        for (const PlacedTask& task : placed) {
          const sim::PackingArrival& a = problem.arrivals[task.job];
          if (task.row != row || a.due_ns > *at || end_of(a) <= *at) continue;
          ++tasks;
          for (const auto d : {kCpu, kMemory}) free[d] -= problem.classes[task.task].ask[d];
        }
        const auto share = slow_missing(problem, free[kCpu], free[kMemory]);
        empty += weight * (tasks == 0), cpu += weight * free[kCpu] * share.memory;
        memory += weight * free[kMemory] * share.cpu;
      }
    }
    EXPECT_NEAR(run->over_time.empty_nodes, 100 * empty / static_cast<double>(order.size()), 1e-9);
    EXPECT_NEAR(run->over_time.cpu_without_memory, 100 * cpu / cpus, 1e-9);
    EXPECT_NEAR(run->over_time.memory_without_cpu, 100 * memory / memories, 1e-9);
    EXPECT_GT(cpu, 0);
    EXPECT_GT(memory, 0);
  }
}

TEST(FleetOverTime, MeansWithoutTimeAreThoseAtTheEnd) {
  // One node of 1,000 MHz and 1,000 MiB, one empty. After 200 MHz and 900 MiB, 800 MHz are free and 100 MiB.
  sim::PackingProblem problem;
  problem.nodes.assign(2, {{1000, 1000, 0, 0}, 0, 0});
  problem.node_classes.assign(2, "n");
  problem.models = {""};
  strategy::TaskClass task;
  task.ask = {200, 900, 0, 0};
  problem.classes = {task};
  problem.arrivals = {{.due_ns = 0, .run_time_ns = 10, .task = 0, .count = 1, .job = 0}};
  const auto run =
      replay_packing(problem, problem.context(), {0, 1}, {.moments = true}, strategy::registry(), {"first-fit", {}});
  ASSERT_TRUE(run);
  EXPECT_DOUBLE_EQ(run->over_time.empty_nodes, 50);
  EXPECT_DOUBLE_EQ(run->over_time.cpu_without_memory, 40);  // 800 of 2,000: every task fits by cpu, none by memory
  EXPECT_DOUBLE_EQ(run->over_time.memory_without_cpu, 0);
}

TEST(FleetOverTime, RoundsManySizesUp) {
  const sim::PackingProblem problem = random_problem(7, 3, 4000, 3000);
  const FleetOverTime measures(sim::fleet_of(problem, order_of(problem)), problem);
  for (std::int32_t cpu = 0; cpu < 3200; cpu += 160)
    for (std::int32_t memory = 0; memory < 3200; memory += 160) {
      const auto fast = measures.missing(cpu, memory), slow = slow_missing(problem, cpu, memory);
      EXPECT_NEAR(fast.memory, slow.memory, 0.01) << cpu << " " << memory;
      EXPECT_NEAR(fast.cpu, slow.cpu, 0.01) << cpu << " " << memory;
    }
}

TEST(Regret, IsTheBestScoreLessTheChosenOne) {
  const sim::PackingProblem problem = random_problem(2, 60, 150, 12);
  const auto order = order_of(problem);
  for (const char* name : {"nomad-limit:limit=2", "nomad-limit", "nomad-limit:limit=1000000", "nomad-binpack"}) {
    std::vector<PlacedTask> placed;
    const auto run = replay_packing(problem, problem.context(), order, {.moments = true, .placed = &placed},
                                    strategy::registry(), *strategy::registry().parse(name));
    ASSERT_TRUE(run);
    strategy::Fleet fleet = sim::fleet_of(problem, order);
    double sum = 0;
    std::uint64_t not_best = 0;
    std::set<strategy::Row> of_job;
    for (std::size_t i = 0; i < placed.size(); ++i) {
      if (i > 0 && placed[i].job != placed[i - 1].job) of_job.clear();
      const strategy::TaskClass& task = fleet.task_class(placed[i].task);
      const auto score = [&](strategy::Row row) {
        const strategy::Node node = fleet.node(row);
        return rank::fit_component(rank::FitAlgorithm::binpack, node.used(kCpu) + task.ask[kCpu], node.capacity(kCpu),
                                   node.used(kMemory) + task.ask[kMemory], node.capacity(kMemory));
      };
      double best = 0;
      for (strategy::Row row = 0; row < fleet.size(); ++row)
        if (fleet.feasible(row, task) && !(placed[i].distinct_hosts && of_job.contains(row)))
          best = std::max(best, score(row));
      sum += best - score(placed[i].row), not_best += best > score(placed[i].row);
      of_job.insert(placed[i].row);
      fleet.place(placed[i].row, placed[i].task, 0);
    }
    const bool samples = std::string(name) != "nomad-binpack";
    EXPECT_EQ(run->regret.decisions, samples ? placed.size() : 0U) << name;
    EXPECT_NEAR(run->regret.sum, sum, 1e-12) << name;
    EXPECT_EQ(run->regret.not_best, not_best) << name;
    if (std::string(name) == "nomad-limit:limit=2") {
      EXPECT_GT(not_best, 100U);
      EXPECT_GT(run->regret.billionths.percentile(99), 1'000'000);
    }
    if (std::string(name) == "nomad-limit:limit=1000000") {
      EXPECT_EQ(not_best, 0U);
    }
  }
}

TEST(LifetimeStrategies, DecideAsTheirFormulas) {
  const sim::PackingProblem problem = random_problem(4, 40, 800, 12);
  const auto order = order_of(problem);
  const auto digest = [&](const std::string& text) {
    const auto run = replay_packing(problem, problem.context(), order, {.departures = true, .run_times = true},
                                    strategy::registry(), *strategy::registry().parse(text));
    EXPECT_TRUE(run) << text;
    return run->digest;
  };
  // By how much the task outlasts the node, in steps of 4 s; inf - inf, if both stay, counts as 0.
  const std::string steps = "max(0,if(node_exit>1e12,0,run_time-node_exit))/4";
  const std::string formula = "expr:-if(" + steps + "==0,0,if(" + steps + "<1,1,2+floor(log2(" + steps + "))))";
  for (const std::string error : {"", ":error=0.8"}) {
    EXPECT_EQ(digest("nilas:step=4:inner=first-fit" + error), digest(formula + error)) << error;
    EXPECT_NE(digest("nilas:step=4" + error), digest("best-fit")) << error;
  }
  EXPECT_NE(digest("nilas:step=4:error=0.8"), digest("nilas:step=4"));
}

}  // namespace
}  // namespace berth::packing
