// Grids of runs: the problem, the measures of a run, and that the result does not depend on the number of threads or on
// interruptions.
#include "compare/grid.h"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "compare/choices.h"
#include "run/runner.h"

namespace berth::compare {
namespace {

namespace fs = std::filesystem;
using strategy::kCpu;
using strategy::kGpu;
using strategy::kMemory;

const char* const kWorkload = R"(name = "small"
seed = 7
[strategies]
mine = { cosine = 1.0, best-fit = 0.5, rescale = "yes" }
[cluster]
nodes = 40
[[cluster.shapes]]
name = "std"
weight = 3
cores = 4
mhz_per_core = 1000
memory_mb = 8192
[[cluster.shapes]]
name = "gpu"
cores = 8
mhz_per_core = 1000
memory_mb = 16384
devices = [{ name = "nvidia/gpu/T4", count = 2 }]
[jobs]
count = 30
[[jobs.mix]]
name = "web"
count = [2, 6]
cpu_mhz = [500, 2500]
memory_mb = [256, 6000]
[[jobs.mix]]
name = "train"
count = 1
cpu_mhz = 1000
memory_mb = 1000
devices = [{ name = "nvidia/gpu" }]
)";

sim::Workload workload_of(const std::string& text) {
  auto workload = sim::parse_workload(text, "small.toml");
  EXPECT_TRUE(workload) << workload.error().line();
  return *workload;
}

GridOptions options_of(const sim::Workload& workload, std::vector<std::string> names, std::size_t threads = 1) {
  GridOptions out;
  for (std::string& name : names) {
    const auto sum = workload.strategies.find(name);
    auto spec = strategy::registry().parse(sum == workload.strategies.end() ? name : sum->second);
    EXPECT_TRUE(spec) << spec.error().line();
    out.strategies.push_back({std::move(name), *spec});
  }
  out.seeds = {7, 8, 9, 10};
  out.threads = threads, out.quiet = true;
  return out;
}

TEST(SimulatedClusters, AreRankedByRecoveryOnAnyNumberOfThreads) {
  const std::string text =
      std::string(kWorkload) + "[life]\nduration_s = 600\n[[faults]]\ntimes = 5\ndo = \"loss\"\nsome = 3\nfor_s = 60\n";
  const sim::Workload workload = workload_of(text);
  const auto one = run_grid(workload, text, options_of(workload, {"best-fit", "worst-fit"}, 1));
  const auto two = run_grid(workload, text, options_of(workload, {"best-fit", "worst-fit"}, 2));
  ASSERT_TRUE(one && two);
  EXPECT_EQ(one->set, &life_metrics());
  EXPECT_FALSE(one->partial);
  EXPECT_EQ(one->digest(), two->digest());
  EXPECT_NE(one->run(0, 0).measured.digest, one->run(1, 0).measured.digest);
  for (std::size_t m = 0; m < life_metrics().all.size(); ++m)
    if (!life_metrics().all[m].speed) {
      EXPECT_EQ(one->values(0, m), two->values(0, m)) << life_metrics().all[m].name;
    }
  for (const double p50_s : one->values(0, 0)) EXPECT_GT(p50_s, 1);  // tested by hand in tests/run/life_test.cc
  EXPECT_NE(grid_table(*one).find("recovery p50 s"), std::string::npos);
}

TEST(QueuePolicies, AreComparedInReplaysOnAnyNumberOfThreads) {
  const sim::Workload workload = workload_of(R"(name = "queued"
departures = true
[cluster]
nodes = 4
[[cluster.shapes]]
name = "std"
[jobs]
count = 60
[[jobs.mix]]
name = "short"
namespace = "a"
cpu_mhz = 9000
run_time_s = [1, 20]
[[jobs.mix]]
name = "long"
namespace = "b"
cpu_mhz = 9000
run_time_s = [30, 90]
)");
  GridOptions options = options_of(workload, {"nomad-binpack"});
  options.strategies.clear();
  for (const char* name : {"priority", "fifo", "shortest", "fair-share:a=2"}) {
    options.strategies.push_back({name, {}});
    ASSERT_TRUE(find_queue(name, options.strategies.back()));
  }
  options.seeds = {1, 2, 3};
  const auto result = run_grid(workload, "", options);
  ASSERT_TRUE(result) << result.error().line();
  EXPECT_EQ(result->set, &queue_metrics());
  const auto value = [&](std::size_t strategy, std::string_view name) {
    for (std::size_t m = 0; m < result->set->all.size(); ++m)
      if (result->set->all[m].name == name) return result->values(strategy, m).at(0);
    ADD_FAILURE() << name;
    return 0.0;
  };
  EXPECT_LT(value(2, "wait_mean_s"), value(1, "wait_mean_s")) << "shortest first has the least mean wait";
  // A run of the grid is the run of its workload, seed and policy.
  sim::Workload alone = workload;
  alone.seed = 1, alone.queue = "shortest";
  const auto run = run::run_workload(alone, {.quiet = true});
  ASSERT_TRUE(run) << run.error().line();
  EXPECT_EQ(result->run(2, 0).measured.digest, run->decisions_digest);
  EXPECT_EQ(value(2, "wait_p99_s"), run->waits->wait_s.p99);
  options.threads = 4;
  const auto parallel = run_grid(workload, "", options);
  ASSERT_TRUE(parallel);
  EXPECT_EQ(parallel->digest(), result->digest());
  sim::Workload stays = workload;
  stays.departures = false;
  const auto refused = run_grid(stays, "", options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(
      refused.error().line(),
      "small.toml:departures: no allocation ends, so no job that waits is ever served; write departures = true and "
      "run_time_s, or name e.g. the workload waiting");
}

TEST(Problem, MatchesTheWorkload) {
  const auto problem = sim::packing_problem(workload_of(kWorkload), 7);
  ASSERT_TRUE(problem) << problem.error().line();
  ASSERT_EQ(problem->nodes.size(), 40U);
  std::size_t with_gpus = 0;
  for (std::size_t node = 0; node < 40; ++node) {
    const auto& spec = problem->nodes[node];
    const bool gpu = problem->node_classes[node] == "gpu";
    with_gpus += gpu;
    EXPECT_EQ(spec.capacity[kCpu], gpu ? 8000 : 4000);
    EXPECT_EQ(spec.capacity[kMemory], gpu ? 16384 : 8192);
    EXPECT_EQ(spec.devices, gpu ? 2 : 0);
  }
  EXPECT_GT(with_gpus, 0U);
  EXPECT_EQ(problem->jobs, 30U);
  for (const auto& arrival : problem->arrivals) {
    const strategy::TaskClass& task = problem->classes[arrival.task];
    if (task.gpus == 0) continue;
    EXPECT_EQ(task.gpu_milli, 1000);
    for (strategy::Row node = 0; node < 40; ++node)
      EXPECT_EQ(task.may_run_on(node), problem->node_classes[node] == "gpu");
  }
  // Another seed gives another problem, the same seed the same one.
  EXPECT_EQ(sim::packing_problem(workload_of(kWorkload), 7)->asked(), problem->asked());
}

TEST(PackingQuality, AgreesWithValuesComputedByHand) {
  // Two nodes of 4,000 MHz and 4,000 MiB; mean request 1,000 and 1,000. One is empty (4 fit), one has 3,500 MHz used:
  // 500 and 4,000 are left, none fits, so these are stranded. Together 4,500 and 8,000 would hold 4.
  const std::vector<strategy::Fleet::NodeSpec> specs(2, {{4000, 4000, 0, 0}, 0, 0});
  strategy::Fleet fleet(specs);
  strategy::TaskClass filler;
  filler.ask = {3500, 0, 0, 0};
  fleet.place(1, fleet.add_class(filler), 0);
  strategy::Context context;
  context.demand_mean = {1000, 1000, 0, 0};
  const packing::PackingQuality q = packing::measure_quality(fleet, context);
  EXPECT_DOUBLE_EQ(q.used_percent[kCpu], 43.75);
  EXPECT_DOUBLE_EQ(q.used_percent[kMemory], 0);
  EXPECT_DOUBLE_EQ(q.used_percent[kGpu], 0);  // no capacity: 0, not a NaN
  EXPECT_DOUBLE_EQ(q.stranded_percent[kCpu], 6.25);
  EXPECT_DOUBLE_EQ(q.stranded_percent[kMemory], 50);
  EXPECT_DOUBLE_EQ(q.fragmentation_percent, 0);
  EXPECT_DOUBLE_EQ(q.nodes_used_percent, 50);
  EXPECT_DOUBLE_EQ(q.balance, 43.75);  // 0 and 87.5
  // A mean request of 2,500 MHz: one fits into 4,500 in total, and one fits on the empty node; with 2,000 two and two.
  filler.ask = {1600, 0, 0, 0};
  fleet.place(0, fleet.add_class(filler), 0);  // 2,400 and 500 left: 2,900 would hold one of 2,500, no node does
  context.demand_mean = {2500, 0, 0, 0};
  EXPECT_DOUBLE_EQ(packing::measure_quality(fleet, context).fragmentation_percent, 100);
  EXPECT_EQ(packing::measure_quality(strategy::Fleet(std::span<const strategy::Fleet::NodeSpec>{}), context).balance,
            0);
}

TEST(PackingReplay, RespectsDistinctHostsAndDepartures) {
  sim::PackingProblem problem;
  problem.nodes.assign(3, {{1000, 1000, 0, 0}, 0, 0});
  problem.node_classes.assign(3, "n");
  problem.models = {""};
  strategy::TaskClass small, whole;
  small.ask = {100, 100, 0, 0}, whole.ask = {1000, 1000, 0, 0};
  problem.classes = {small, whole};
  problem.arrivals = {{.due_ns = 0, .run_time_ns = 10, .task = 0, .count = 4, .job = 0, .distinct_hosts = true},
                      {.due_ns = 10, .run_time_ns = 10, .task = 1, .count = 3, .job = 1, .distinct_hosts = false}};
  problem.jobs = 2;
  const auto run = [&](bool departures) {
    return *packing::replay_packing(problem, problem.context(), {0, 1, 2}, {.departures = departures},
                                    strategy::registry(), {"first-fit", {}});
  };
  EXPECT_EQ(run(false).placed, 3U);  // the fourth of the job needs a host of its own, and no empty node is left
  EXPECT_EQ(run(true).placed, 6U);   // at time 10 the first three have ended
  EXPECT_NE(run(true).digest, run(false).digest);
}

TEST(StrategyGrid, IsTheSameOnAnyNumberOfThreads) {
  const auto workload = workload_of(kWorkload);
  const std::vector<std::string> names = {"first-fit", "random", "nomad-limit", "fgd", "mine"};
  const auto one = run_grid(workload, kWorkload, options_of(workload, names, 1));
  const auto four = run_grid(workload, kWorkload, options_of(workload, names, 4));
  ASSERT_TRUE(one && four);
  EXPECT_EQ(one->digest(), four->digest());
  for (std::size_t i = 0; i < one->runs.size(); ++i) {
    ASSERT_EQ(one->runs[i].measured.digest, four->runs[i].measured.digest);
    EXPECT_EQ(one->runs[i].measured.curves, four->runs[i].measured.curves);
    for (std::size_t m = 0; m < packing_metrics().all.size(); ++m)
      if (!packing_metrics().all[m].speed) {
        const double a = one->runs[i].measured.values[m], b = four->runs[i].measured.values[m];
        EXPECT_TRUE(a == b || (std::isnan(a) && std::isnan(b))) << packing_metrics().all[m].name;
      }
  }
  EXPECT_NE(one->run(0, 0).measured.digest, one->run(0, 1).measured.digest);
  const auto csv = grid_csv(*one);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 1 + 5 * 4);
  const auto json = grid_json(*one);
  EXPECT_EQ(json["strategies"].items().size(), 5U);
  EXPECT_NE(grid_markdown(*one).find("| mine |"), std::string::npos);
}

TEST(StrategyGrid, CurvesEndWhereTheRunEnds) {
  const auto workload = workload_of(kWorkload);
  const auto result = run_grid(workload, kWorkload, options_of(workload, {"best-fit"}));
  ASSERT_TRUE(result);
  const MetricSet& set = packing_metrics();
  for (const GridRun& run : result->runs) {
    ASSERT_EQ(run.measured.curves.size(), set.curves.size());
    ASSERT_EQ(run.measured.arrived_percent.size(), 20U);  // 30 jobs of one group
    EXPECT_EQ(run.measured.arrived_percent.front(), 5);
    EXPECT_EQ(run.measured.arrived_percent.back(), 100);
    for (std::size_t c = 0; c < set.curves.size(); ++c)
      for (std::size_t m = 0; m < set.all.size(); ++m)
        if (std::string(set.all[m].name) == set.curves[c].name) {
          EXPECT_EQ(run.measured.curves[c].back(), run.measured.values[m]) << set.all[m].name;
        }
    // No task ends, so usage never falls.
    EXPECT_TRUE(std::is_sorted(run.measured.curves[1].begin(), run.measured.curves[1].end()));
  }
}

TEST(StrategyGrid, HasPowerCarbonAndPriceOnlyIfTheWorkloadGivesThem) {
  const auto workload = workload_of(kWorkload);
  const auto none = run_grid(workload, kWorkload, options_of(workload, {"best-fit"}));
  ASSERT_TRUE(none);
  EXPECT_EQ(grid_csv(*none).find("power"), std::string::npos);
  EXPECT_FALSE(grid_json(*none)["strategies"].items()[0]["summary"].has("energy_kwh"));

  std::string text = kWorkload;
  for (const char* name : {"name = \"std\"", "name = \"gpu\""})
    text.insert(text.find(name), "power = { package_idle_w = 10, package_max_w = 100 }\n");
  const auto powered =
      workload_of(text + "[carbon]\ngrams_per_kwh = 400\n[arrivals]\nprocess = \"fixed\"\nrate_per_s = 0.1\n");
  const auto with = run_grid(powered, text, options_of(powered, {"best-fit", "worst-fit", "pwr"}));
  ASSERT_TRUE(with) << with.error().line();
  EXPECT_EQ(with->set, &packing_metrics(kPower | kCarbon));
  const json::Value report = grid_json(*with);
  for (const json::Value& one : report["strategies"].items()) {
    const double energy = one["summary"]["energy_kwh"]["mean"].as_double();
    EXPECT_NEAR(one["summary"]["carbon_kg"]["mean"].as_double(), 0.4 * energy, 1e-9);
    EXPECT_NEAR(energy, one["summary"]["power_mean_kw"]["mean"].as_double() * 290 / 3600, 1e-9);  // 30 jobs in 290 s
    EXPECT_FALSE(one["summary"].has("price"));
  }
  const auto mean = [&](std::size_t s) {
    return report["strategies"].items()[s]["summary"]["power_mean_kw"]["mean"].as_double();
  };
  EXPECT_LT(mean(2), mean(0));
  EXPECT_LT(mean(2), mean(1));
  // The same placements, with or without measuring.
  EXPECT_EQ(with->run(0, 0).measured.digest, none->run(0, 0).measured.digest);
}

TEST(StrategyGrid, ReportsWhenNoDifferenceIsShown) {
  const auto workload = workload_of(kWorkload);
  const auto result = run_grid(workload, kWorkload, options_of(workload, {"best-fit", "best-fit:device=worst"}));
  ASSERT_TRUE(result);
  const json::Value report = grid_json(*result);
  EXPECT_EQ(report["strategies"].items()[1]["summary"]["placed_percent"]["against_first"]["verdict"].as_string(),
            "no difference shown");
  EXPECT_NE(grid_table(*result).find("no difference shown"), std::string::npos);
}

TEST(StrategyGrid, ResumesFromUndamagedRuns) {
  const auto workload = workload_of(kWorkload);
  auto options = options_of(workload, {"first-fit", "random"});
  const fs::path file = fs::temp_directory_path() / ("berth-compare-" + std::to_string(::getpid()));
  options.resume = file.string();
  const auto first = run_grid(workload, kWorkload, options);
  ASSERT_TRUE(first) << first.error().line();
  // One run is gone, two are cut off or another run, and two have a value that was changed.
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(file.c_str(), &db), SQLITE_OK);
  for (const char* change :
       {"delete from runs where id = 1", "update runs set detail = substr(detail, 1, 9) where id = 2",
        "update runs set detail = '{\"digest\": \"\", \"metrics\": {}}' where id = 3",
        "update runs set detail = replace(detail, '\"placed_percent\":', '\"placed_percent\":-') where id = 4",
        "update runs set detail = replace(detail, '\"placed_percent\":', '\"placed_percent\":1') where id = 5"}) {
    EXPECT_EQ(sqlite3_exec(db, change, nullptr, nullptr, nullptr), SQLITE_OK) << change;
    EXPECT_EQ(sqlite3_changes(db), 1) << change;
  }
  sqlite3_close(db);
  const auto second = run_grid(workload, kWorkload, options);
  ASSERT_TRUE(second);
  std::size_t resumed = 0;
  for (const GridRun& run : second->runs) resumed += run.resumed;
  EXPECT_EQ(resumed, 3U);
  EXPECT_EQ(second->digest(), first->digest());
  for (std::size_t i = 0; i < first->runs.size(); ++i)
    EXPECT_EQ(first->runs[i].measured.curves, second->runs[i].measured.curves);
  // Another workload does not use these runs.
  const auto third = run_grid(workload, std::string(kWorkload) + "\n", options);
  ASSERT_TRUE(third);
  for (const GridRun& run : third->runs) EXPECT_FALSE(run.resumed);
  fs::remove(file);
}

TEST(StrategyGrid, EmptyWorkloadsAndNodesWithoutAmountsAreDefined) {
  const auto workload = workload_of(kWorkload);
  sim::PackingProblem problem;
  problem.models = {""};
  for (const std::size_t nodes : {0U, 2U}) {
    problem.nodes.assign(nodes, {});
    problem.node_classes.assign(nodes, "nothing");
    problem.rates = std::make_shared<strategy::RateTable>(strategy::RateTable{{{.package_cpu = 1}}, true, false});
    problem.classes = {strategy::TaskClass{}};
    for (const strategy::StrategyInfo* info : strategy::registry().all()) {
      if (info->name == "sum" || info->name == "expr") continue;  // they need parts
      std::vector<std::uint32_t> order(nodes);
      for (std::uint32_t i = 0; i < nodes; ++i) order[i] = i;
      problem.arrivals.clear();
      const auto none =
          packing::replay_packing(problem, problem.context(), order, {.departures = true, .run_times = true},
                                  strategy::registry(), {info->name, {}});
      ASSERT_TRUE(none) << info->name;
      EXPECT_EQ(none->placed_percent(), 100) << info->name;  // no task was requested
      problem.arrivals = {{.due_ns = 0, .run_time_ns = 1, .task = 0, .count = 3, .job = 0, .distinct_hosts = false}};
      const auto some = packing::replay_packing(problem, problem.context(), order, {.run_times = true},
                                                strategy::registry(), {info->name, {}});
      ASSERT_TRUE(some) << info->name;
      EXPECT_EQ(some->placed, nodes == 0 ? 0U : 3U) << info->name;  // the task requests nothing: it fits on any node
      for (const double used : some->quality.used_percent) EXPECT_EQ(used, 0) << info->name;
    }
  }
}

}  // namespace
}  // namespace berth::compare
