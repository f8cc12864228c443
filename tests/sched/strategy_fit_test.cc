// A ranking strategy in place of the fit score (R-STRAT-007): scores of whole Selects by hand, the node data that
// strategies get, and random clusters compared with a simple implementation. select_test.cc compares the paths.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <random>

#include "berth/strategy.h"
#include "model/job.h"
#include "sched/small_world.h"
#include "support/sanitized.h"

namespace berth::sched {
namespace {

/// Hundredths of the node's memory that stay free: 98 on an empty node of SmallWorld for 64 of its 4,096 MiB.
struct MemoryLeft {
  std::int32_t score(const strategy::Node& node, const strategy::TaskClass& task) const {
    return 100 * (node.free(strategy::kMemory) - task.ask[strategy::kMemory]) / node.capacity(strategy::kMemory);
  }
};

/// The only score record of the only Select.
model::ScoreMeta scored(const SmallWorld& world) {
  const auto placed = world.placed();
  EXPECT_EQ(placed.size(), 1U) << world.error;
  if (placed.empty() || !placed[0].metrics || placed[0].metrics->score_meta_data.size() != 1) return {};
  return placed[0].metrics->score_meta_data[0];
}

void add_gpus(model::Node& node, int gpus) {
  model::NodeDevice& device = node.node_resources->devices.emplace_back();
  device.vendor = "v", device.type = "gpu", device.name = "t4";
  for (int i = 0; i < gpus; ++i) device.instances.push_back({.id = "g" + std::to_string(i), .healthy = true});
}

struct FitCase {
  const char* name;
  std::function<void(SmallWorld& world, model::Job& job)> change;
  double fit;    ///< component, logged under Nomad's name
  double score;  ///< mean
};

class StrategyFitCase : public ::testing::TestWithParam<FitCase> {};

TEST_P(StrategyFitCase, IsOneOfTheComponentsOfTheMean) {
  SmallWorld world;
  const auto ranker = strategy::make_ranker(MemoryLeft{});
  world.fit = ranker->fit();
  world.add_node();
  const auto job = SmallWorld::job("service", 1);
  GetParam().change(world, *job);
  world.store(job);
  for (const bool plain : {true, false}) {
    world.sources = plain ? EnabledSources() : EnabledSources::none();
    world.run();
    model::ScoreMeta meta = scored(world);
    EXPECT_EQ(meta.scores["binpack"], GetParam().fit);
    EXPECT_DOUBLE_EQ(meta.norm_score, GetParam().score);
  }
}

// A request of 64 MiB on 4,096 leaves floor(98.4) hundredths; with 960 MiB in use, floor(75.0).
INSTANTIATE_TEST_SUITE_P(
    Components, StrategyFitCase,
    ::testing::Values(FitCase{"alone", [](SmallWorld&, model::Job&) {}, .98, .98},
                      FitCase{"anti_affinity",  // one of two runs there: -(1 + 1) / 2; 4096 - 128 MiB left are 96.9 %
                              [](SmallWorld& world, model::Job& job) {
                                job.task_groups[0].count = 2;
                                world.add(std::make_shared<model::Job>(job), 0, 0);
                              },
                              .96, (.96 - 1) / 2},
                      FitCase{"affinity",
                              [](SmallWorld&, model::Job& job) {
                                model::Affinity& a = job.affinities.emplace_back();
                                a.ltarget = "${node.datacenter}", a.operand = "=", a.rtarget = "dc1", a.weight = 50;
                              },
                              .98, (.98 + 1) / 2},
                      FitCase{"affinity_elsewhere",  // no match: 0, which counts in the mean
                              [](SmallWorld&, model::Job& job) {
                                model::Affinity& a = job.affinities.emplace_back();
                                a.ltarget = "${node.datacenter}", a.operand = "=", a.rtarget = "dc2", a.weight = 50;
                              },
                              .98, .98 / 2},
                      FitCase{"spread",  // R-RANK-831: desired 50 % of 1, (0.5 - 1) / 0.5
                              [](SmallWorld&, model::Job& job) {
                                model::Spread& s = job.spreads.emplace_back();
                                s.attribute = "${node.datacenter}", s.weight = 50, s.targets = {{"dc1", 50}};
                              },
                              .98, (.98 - 1) / 2},
                      FitCase{"all_of_them",
                              [](SmallWorld& world, model::Job& job) {
                                job.task_groups[0].count = 2;
                                model::Affinity& a = job.affinities.emplace_back();
                                a.ltarget = "${node.datacenter}", a.operand = "=", a.rtarget = "dc1", a.weight = 50;
                                model::Spread& s =
                                    job.spreads.emplace_back();  // desired 2, used 2: 0, which is left out
                                s.attribute = "${node.datacenter}", s.weight = 50, s.targets = {{"dc1", 100}};
                                world.add(std::make_shared<model::Job>(job), 0, 0);
                              },
                              .96, (.96 - 1 + 1) / 3},
                      FitCase{"preemption",  // R-STRAT-821: the victim counts; nu = 20 + 20 / 20
                              [](SmallWorld& world, model::Job& job) {
                                job.priority = 70;
                                world.eval.priority = 70;
                                world.state.scheduler_config->preemption_config.service_scheduler_enabled = true;
                                const auto low = SmallWorld::job("service", 1);
                                low->id = low->name = "low", low->priority = 20;
                                world.store(low);
                                auto& held = world.add(low, 0, 0).allocated_resources->tasks["t"];
                                held.cpu.cpu_shares = 4000, held.memory.memory_mb = 960;
                              },
                              .75, (.75 + 1 / (1 + std::exp(0.0048 * (21 - 2048)))) / 2},
                      FitCase{"devices",  // half of the weight of the device's affinities holds
                              [](SmallWorld& world, model::Job& job) {
                                add_gpus(world.state.nodes[0], 2);
                                model::RequestedDevice& ask =
                                    job.task_groups[0].tasks[0].resources->devices.emplace_back();
                                ask.name = "gpu", ask.count = 1;
                                for (const char* model : {"t4", "h100"}) {
                                  model::Affinity& a = ask.affinities.emplace_back();
                                  a.ltarget = "${device.model}", a.operand = "=", a.rtarget = model, a.weight = 50;
                                }
                              },
                              .98, (.98 + .5) / 2}),
    [](const auto& test) { return std::string(test.param.name); });

/// Records its first call: the node of a placement is scored again.
struct Seen {
  bool noted = false;
  strategy::NodeState state;
  std::vector<std::int16_t> devices;
  std::vector<std::uint32_t> tags;
  strategy::TaskClass task;
};
struct Spy {
  Seen* seen;
  double score(const strategy::Node& node, const strategy::TaskClass& task) const {
    if (seen->noted) return .5;
    *seen = {true,
             node.state,
             {node.devices.begin(), node.devices.end()},
             {node.tag_tasks.begin(), node.tag_tasks.end()},
             task};
    return .5;
  }
};

TEST(StrategyFit, SeesTheNodeBeforeThePlacement) {  // R-STRAT-001, 108
  SmallWorld world;
  Seen seen;
  const auto ranker = strategy::make_ranker(Spy{&seen});
  world.fit = ranker->fit();
  world.fit_models = {"", "v/gpu/p100", "v/gpu/t4"};
  model::Node& node = world.add_node();
  add_gpus(node, 4);
  node.node_resources->devices[0].instances[1].healthy = false;  // g0, g2, g3 are left
  const auto other = SmallWorld::job("service", 1);
  other->id = other->name = "other";
  world.store(other);
  for (int i = 0; i < 2; ++i) {
    model::Allocation& alloc = world.add(other, 0, static_cast<std::uint64_t>(i));
    alloc.allocated_resources->tasks["t"].cpu.cpu_shares = 700;
    if (i == 0) alloc.allocated_resources->tasks["t"].devices = {{"v", "gpu", "t4", {"g2"}}};
  }
  const auto job = SmallWorld::job("service", 1);
  job->priority = 60;
  world.store(job);
  for (const bool asks_gpus : {false, true}) {  // with and without the code that assigns devices
    if (asks_gpus) {
      model::RequestedDevice& ask = job->task_groups[0].tasks[0].resources->devices.emplace_back();
      ask.name = "gpu", ask.count = 2;
    }
    seen = {};
    world.run();
    ASSERT_EQ(world.placed().size(), 1U);
    EXPECT_EQ(seen.state.capacity, (strategy::Amounts{4000, 4096, 10'000, 3000}));
    EXPECT_EQ(seen.state.free, (strategy::Amounts{2600, 3968, 9980, 2000}));
    EXPECT_EQ(seen.devices, (std::vector<std::int16_t>{1000, 0, 1000}));
    EXPECT_EQ(seen.state.tasks, 2);
    EXPECT_EQ(seen.state.gpu_tasks, 1);
    EXPECT_EQ(seen.state.model, 2);
    EXPECT_EQ(seen.tags[2], 1U);  // one whole device
    EXPECT_EQ(std::count(seen.tags.begin(), seen.tags.end(), 0U), static_cast<std::ptrdiff_t>(seen.tags.size() - 1));
    EXPECT_EQ(seen.task.ask, (strategy::Amounts{100, 64, 10, asks_gpus ? 2000 : 0}));
    EXPECT_EQ(seen.task.gpus, asks_gpus ? 2 : 0);
    EXPECT_EQ(seen.task.priority, 60);
  }
  // Two instances are a device. Half of the first is in use by a task with part of one; g3 is not a whole device.
  node.node_resources->devices[0].instances[1].healthy = true;
  world.fit_shares = 2;
  seen = {};
  world.run();
  EXPECT_EQ(seen.devices, (std::vector<std::int16_t>{1000, 500}));
  EXPECT_EQ(seen.tags[1], 1U);
  EXPECT_EQ(seen.task.gpus, 1);
}

TEST(StrategyFit, RequestedCoresBecomeMhzOfTheNode) {  // R-RANK-641
  SmallWorld world;
  Seen seen;
  const auto ranker = strategy::make_ranker(Spy{&seen});
  world.fit = ranker->fit();
  model::Topology& topology = *world.add_node().node_resources->processors->topology;
  topology.override_total_compute = 0;
  for (std::uint16_t id = 0; id < 4; ++id) {
    auto& core = topology.cores.emplace_back();
    core.id = id, core.base_speed = 1500;
  }
  const auto job = SmallWorld::job("service", 1);
  job->task_groups[0].tasks[0].resources->cpu = 0;
  job->task_groups[0].tasks[0].resources->cores = 2;
  world.store(job);
  world.run();
  ASSERT_EQ(world.placed().size(), 1U) << world.error;
  EXPECT_EQ(seen.task.ask[strategy::kCpu], 3000);
  EXPECT_EQ(seen.state.free[strategy::kCpu], 6000);
}

/// Scores by a hash in 0..1, so that no bound or order of Nomad's own fit helps.
struct Hashed {
  double score(const strategy::Node& node, const strategy::TaskClass& task) const {
    std::uint64_t h = 1469598103934665603ULL;
    for (const std::int32_t x :
         {node.state.free[strategy::kCpu], node.state.free[strategy::kMemory], node.state.free[strategy::kDisk],
          node.state.tasks, task.ask[strategy::kCpu], task.ask[strategy::kMemory]})
      h = (h ^ static_cast<std::uint32_t>(x)) * 1099511628211ULL, h ^= h >> 29;
    return static_cast<double>(h % 1000) / 1000;
  }
};

TEST(StrategyFit, ExhaustiveModeAgreesWithALinearSearch) {
  // Exhaustive mode, one group without constraints: each placement takes the greatest (fit + anti-affinity) mean, the
  // first node on ties, from a fleet that the test maintains.
  const auto ranker = strategy::make_ranker(Hashed{});
  for (std::uint64_t seed = 1; seed <= testing::rounds(40); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(random() % n); };
    SmallWorld world;
    world.fit = ranker->fit();
    world.exhaustive = true;
    world.defer_metrics = seed % 2 == 0;  // Nomad's own fit has an index in that case
    world.sources = seed % 3 != 0 ? EnabledSources() : EnabledSources::none();
    struct Node {
      strategy::NodeState state;
      std::int64_t own = 0;
    };
    std::vector<Node> nodes;
    const auto n = static_cast<std::size_t>(1 + below(150));
    world.state.nodes.reserve(n);
    const auto other = SmallWorld::job("service", 1);
    other->id = other->name = "other";
    world.store(other);
    world.state.allocs.reserve(n);
    for (std::size_t i = 0; i < n; ++i) {
      world.add_node().computed_class = "v1:all";
      Node& node = nodes.emplace_back();
      node.state.capacity = node.state.free = {4000, 4096, 10'000, 0};
      if (below(2) == 0) continue;
      auto& held = world.add(other, i, i).allocated_resources->tasks["t"];
      held.cpu.cpu_shares = 100 * below(40), held.memory.memory_mb = 100 * below(40);
      node.state.free[strategy::kCpu] -= static_cast<std::int32_t>(held.cpu.cpu_shares);
      node.state.free[strategy::kMemory] -= static_cast<std::int32_t>(held.memory.memory_mb);
      node.state.free[strategy::kDisk] -= 10;
      node.state.tasks = 1;
    }
    const std::int64_t count = 1 + below(seed % 4 == 0 ? 120 : 4);
    const auto job = SmallWorld::job("service", count);
    strategy::TaskClass task;
    task.ask = {static_cast<std::int32_t>(100 * (1 + below(15))), static_cast<std::int32_t>(100 * (1 + below(15))), 10,
                0};
    job->task_groups[0].tasks[0].resources->cpu = task.ask[strategy::kCpu];
    job->task_groups[0].tasks[0].resources->memory_mb = task.ask[strategy::kMemory];
    world.store(job);
    world.run();

    std::map<std::string, std::pair<std::size_t, double>> expected;  // by name of the allocation
    for (std::int64_t i = 0; i < count; ++i) {
      std::size_t best = n;
      double best_score = 0;
      for (std::size_t at = 0; at < n; ++at) {
        const Node& node = nodes[at];
        bool fits = true;
        for (std::size_t d = 0; d < strategy::kGpu; ++d) fits = fits && node.state.free[d] >= task.ask[d];
        if (!fits) continue;
        double score = Hashed{}.score({node.state, {}, {}}, task);
        if (node.own > 0) score = (score - static_cast<double>(node.own + 1) / static_cast<double>(count)) / 2;
        if (best == n || score > best_score) best = at, best_score = score;
      }
      if (best == n) break;
      for (std::size_t d = 0; d < strategy::kGpu; ++d) nodes[best].state.free[d] -= task.ask[d];
      ++nodes[best].state.tasks, ++nodes[best].own;
      expected["j.web[" + std::to_string(i) + "]"] = {best, best_score};
    }
    std::map<std::string, std::pair<std::size_t, double>> got;
    for (const PlannedAlloc& alloc : world.result.plan.allocs)
      got["j.web[" + std::to_string(alloc.name_index) + "]"] = {alloc.node, alloc.score};
    ASSERT_EQ(got, expected);
  }
}

}  // namespace
}  // namespace berth::sched
