// The published experiment compared with the check values of R-STRAT-601 to 608, and its parts by hand.
#include "packing/openb_experiment.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "base/sha256.h"
#include "io/files.h"
#include "sim/datasets.h"

namespace berth::packing {
namespace {

TEST(OpenbSeries, CentsAreRoundedFromTheExactValue) {  // R-STRAT-505
  std::uint64_t state = 5;
  for (int i = 0; i < 20'000; ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    // Values at and next to the middle of two cents, and elsewhere.
    double value = static_cast<double>(state >> 40) / 7;
    if (i % 3 == 0) value = (static_cast<double>(state >> 50) + 0.5) / 100;
    if (i % 3 == 1) value = static_cast<double>(state >> 48) / 8;
    char text[64];
    std::snprintf(text, sizeof text, "%.2f", value);
    EXPECT_EQ(rounded_to_cents(value), std::strtod(text, nullptr)) << value;
  }
}

TEST(OpenbSeries, SumsAreAddedInPairs) {  // R-STRAT-506
  std::vector<double> values;
  for (int i = 0; i < 300; ++i) values.push_back(i % 2 ? 1e16 : 1);
  // 16 values: eight sums of two, joined.
  const double by_hand = ((2.0 + 2e16) + (2.0 + 2e16)) + ((2.0 + 2e16) + (2.0 + 2e16));
  EXPECT_EQ(pairwise_sum(std::span(values).first(16)), by_hand);
  EXPECT_EQ(pairwise_sum(std::span(values).first(3)), 1 + 1e16 + 1);
  EXPECT_EQ(pairwise_sum(std::span(values).first(0)), 0);
  EXPECT_EQ(pairwise_sum(std::span(values)),
            pairwise_sum(std::span(values).first(144)) + pairwise_sum(std::span(values).subspan(144)));
}

OpenbInput tiny(const std::string& tasks_text) {
  auto nodes =
      sim::parse_openb_nodes("sn,cpu_milli,memory_mib,gpu,model\nb,8000,1000,2,T4\na,4000,1000,1,G2\n", "n.csv");
  auto tasks = sim::parse_openb_tasks("name,cpu_milli,memory_mib,num_gpu,gpu_milli\n" + tasks_text, "t.csv", false);
  auto input = openb_input(*nodes, "n.csv", *tasks);
  EXPECT_TRUE(input);
  return *input;
}

TEST(OpenbExperiment, InflationStopsBeforeTheTarget) {  // R-STRAT-407
  const OpenbInput input = tiny("x,1000,1,1,500\ny,1000,1,0,0\n");
  const auto order = openb_order(input, 42);
  ASSERT_TRUE(order);
  // Capacity 3,000; target 3,900: seven tasks of 500 fit, an eighth would go beyond.
  EXPECT_EQ(order->demand_milli, 3'500);
  const auto run = openb_run(input, *order, 42, strategy::registry(), {"fgd", {}});
  ASSERT_TRUE(run);
  EXPECT_EQ(run->arrivals, order->arrivals.size());
  EXPECT_EQ(run->series.allocation.size(), 131U);
}

TEST(OpenbExperiment, PowerFollowsTheAllocation) {
  const OpenbInput input = tiny("x,1000,1,1,500\n");
  const auto order = openb_order(input, 42);
  ASSERT_TRUE(order);
  const auto run = openb_run(input, *order, 42, strategy::registry(), {"pwr", {}});
  ASSERT_TRUE(run);
  // Idle, 20 + 2 x 10 W with T4s and 20 + 25 W with a G2. The first task starts a package and a device of the T4 node,
  // which adds 145 + 60 W, not 250 + 225 W. At 116.7 % all are in use: 165 + 2 x 70 + 270 + 250 W.
  EXPECT_DOUBLE_EQ(run->series.power_kw[17], 0.085 + 0.205);
  EXPECT_DOUBLE_EQ(run->series.power_kw[117], 0.825);

  const auto unknown = openb_input(
      *sim::parse_openb_nodes("sn,cpu_milli,memory_mib,gpu,model\na,4000,1000,1,other\n", "n"), "n", input.tasks);
  ASSERT_TRUE(unknown);
  EXPECT_FALSE(openb_run(*unknown, *openb_order(*unknown, 42), 42, strategy::registry(), {"pwr", {}}));
  const auto without = openb_run(*unknown, *openb_order(*unknown, 42), 42, strategy::registry(), {"fgd", {}});
  ASSERT_TRUE(without);
  EXPECT_TRUE(std::isnan(without->series.power_kw[100]));
}

TEST(OpenbExperiment, PruningRemovesUntilTheTarget) {  // R-STRAT-408
  std::string text;
  for (int i = 0; i < 20; ++i) text += fmt::format("t{},1000,1,1,1000\n", i);
  const OpenbInput input = tiny(text);
  const auto order = openb_order(input, 42);
  ASSERT_TRUE(order);
  EXPECT_EQ(order->demand_milli, 3'000);
  EXPECT_EQ(order->arrivals.size(), 3U);
  EXPECT_EQ(openb_order(input, 42, 0)->arrivals.size(), 20U);
}

TEST(OpenbExperiment, ListsWithoutDemandAreNotCloned) {
  const OpenbInput input = tiny("y,1000,1,0,0\n");
  const auto order = openb_order(input, 1);
  ASSERT_TRUE(order);
  EXPECT_EQ(order->arrivals.size(), 1U);
  const auto run = openb_run(input, *order, 1, strategy::registry(), {"gpu-best-fit", {}});
  ASSERT_TRUE(run);
  EXPECT_EQ(run->series.allocation[0], 0);
  EXPECT_TRUE(std::isnan(run->series.allocation[100]));
  EXPECT_FALSE(
      openb_input(*sim::parse_openb_nodes("sn,cpu_milli,memory_mib,gpu,model\na,4000,1000,0,\n", "n"), "n", {}));
}

class OpenbPublished : public ::testing::Test {
 protected:
  static std::optional<OpenbInput> input(const std::string& list) {
    const auto nodes =
        sim::fetched_data(BERTH_SOURCE_DIR "/bench/macro/openb.toml", "openb", "openb_node_list_gpu_node.csv");
    const auto tasks =
        sim::fetched_data(BERTH_SOURCE_DIR "/bench/macro/openb.toml", "openb", "openb_pod_list_" + list + ".csv");
    if (!nodes || !tasks) return std::nullopt;
    auto out = openb_input(*sim::parse_openb_nodes(*io::read_file(*nodes), *nodes), *nodes,
                           *sim::parse_openb_tasks(*io::read_file(*tasks), *tasks, false));
    EXPECT_TRUE(out);
    return *out;
  }
};

TEST_F(OpenbPublished, TypicalWorkloadsAreThePublishedOnes) {  // R-STRAT-206, 605
  struct Case {
    const char* list;
    std::size_t classes;
    std::uint64_t covered;
    std::int32_t last_cpu;
    double empty;
  };
  for (const Case& c :
       {Case{"default", 35, 7766, 4152, 866232.5522}, Case{"cpu050", 35, 7076, 4152, 344952.2329},
        Case{"gpushare40", 36, 7767, 15200, 862220.6772}, Case{"multigpu20", 38, 7914, 16400, 870998.9891},
        Case{"gpuspec33", 127, 7748, 1000, 2204453.2783}}) {
    const auto in = input(c.list);
    if (!in) GTEST_SKIP() << "datasets/fetch.sh openb brings the data";
    std::vector<strategy::ShapeCount> shapes;
    for (const auto& t : in->tasks)
      shapes.push_back({static_cast<std::int32_t>(t.cpu_milli), static_cast<std::int32_t>(t.gpus),
                        static_cast<std::int32_t>(t.gpu_milli), t.gpu_spec, 1});
    const auto m = strategy::typical_workload(std::move(shapes));
    ASSERT_EQ(m.size(), c.classes) << c.list;
    std::uint64_t covered = 0;
    for (const auto& one : m) covered += one.count;
    EXPECT_EQ(covered, c.covered) << c.list;
    EXPECT_EQ(m.back().cpu, c.last_cpu) << c.list;
    double sum = 0;
    for (std::size_t node = 0; node < in->nodes.size(); ++node) {
      const std::vector<std::int16_t> devices(static_cast<std::size_t>(in->nodes[node].gpus), 1000);
      sum += in->fragments->exact(in->node_model[node], static_cast<std::int32_t>(in->nodes[node].cpu_milli), devices);
    }
    EXPECT_NEAR(sum, c.empty, 5e-5) << c.list;
  }
}

TEST_F(OpenbPublished, OrderOfArrivalsAndNodesIsThePublishedOne) {  // R-STRAT-604, 608
  struct Case {
    const char* list;
    std::int64_t seed;
    std::size_t arrivals;
    std::int64_t demand;
    const char *arrivals_digest, *permutation_digest;
  };
  for (const Case& c : {Case{"default", 42, 10866, 8075080, "f133eadd0f2dda96", "ad2511eea8ad937f"},
                        Case{"default", 43, 10793, 8074900, "bfe1b173fd623678", "f1283f0682566c1c"},
                        Case{"default", 51, 10859, 8074900, "3b38f9d966fc29a1", "e7208031f588da01"},
                        Case{"cpu050", 42, 9957, 8075230, "81e75388ceed40c8", "2f8fa5cc7691ade2"},
                        Case{"cpu050", 43, 9836, 8075120, "61878f92c454b589", "001d94a0896e46b9"}}) {
    const auto in = input(c.list);
    if (!in) GTEST_SKIP() << "datasets/fetch.sh openb brings the data";
    const auto order = openb_order(*in, c.seed);
    ASSERT_TRUE(order);
    EXPECT_EQ(order->arrivals.size(), c.arrivals);
    EXPECT_EQ(order->demand_milli, c.demand);
    base::Sha256 arrivals, permutation;
    for (const std::uint32_t task : order->arrivals) arrivals.add(in->tasks[task].name), arrivals.add("\n");
    for (const std::uint32_t rank : order->rank) permutation.add(std::to_string(rank)), permutation.add("\n");
    EXPECT_EQ(arrivals.hex().substr(0, 16), c.arrivals_digest);
    EXPECT_EQ(permutation.hex().substr(0, 16), c.permutation_digest);
  }
}

TEST_F(OpenbPublished, FormulasDecideLikeThePolicies) {  // R-STRAT-608
  const auto in = input("default");
  if (!in) GTEST_SKIP() << "datasets/fetch.sh openb brings the data";
  const auto order = openb_order(*in, 42);
  ASSERT_TRUE(order);
  const std::pair<const char*, const char*> cases[] = {
      {"c6c83a94f8161102", "expr:trunc(100*(1-(left_cpu/128000*0.5+left_gpu/8000*0.5)))"},
      {"79fc2d352000008f",
       "expr:if(ask_device==0,0,trunc(25*(8000-free_gpu)/8000)+if(gpu_tasks==0,25,if(same_tasks==0,0,"
       "if(same_tasks==gpu_tasks,75,50))))"},
      {"ad16db8bae772c1e", "expr:trunc(100*(1-(free_cpu/128000*(ask_cpu/128000)+free_gpu/8000*(ask_gpu/8000))/2))"},
  };
  for (const auto& [digest, formula] : cases) {
    const auto spec = strategy::registry().parse(formula);
    ASSERT_TRUE(spec) << spec.error().line();
    const auto run = openb_run(*in, *order, 42, strategy::registry(), *spec);
    ASSERT_TRUE(run);
    EXPECT_EQ(run->digest, digest) << formula;
  }
  // Policies without a published digest: the strategy itself.
  const std::pair<const char*, const char*> pairs[] = {
      {"first-fit", "expr:0"},
      {"best-fit",
       "expr:-(1/3*(left_cpu/total_cpu)+1/3*(left_memory/total_memory)+if(total_gpu>0,1/3*(left_gpu/total_gpu),0))"},
      {"worst-fit:norm=max", "expr:1/3*(left_cpu/max_cpu)+1/3*(left_memory/max_memory)+1/3*(left_gpu/max_gpu)"}};
  for (const auto& [name, formula] : pairs) {
    const auto own = openb_run(*in, *order, 42, strategy::registry(), *strategy::registry().parse(name));
    const auto run = openb_run(*in, *order, 42, strategy::registry(), *strategy::registry().parse(formula));
    ASSERT_TRUE(own && run);
    EXPECT_EQ(run->digest, own->digest) << name;
  }
}

TEST_F(OpenbPublished, LastRowOfTheDefaultListIsThePublishedOne) {  // R-STRAT-606, 608
  struct Case {
    const char *strategy, *digest;
    std::uint64_t failed;
    std::int64_t allocated;
    std::uint64_t devices;
    double fragment;
  };
  const auto in = input("default");
  if (!in) GTEST_SKIP() << "datasets/fetch.sh openb brings the data";
  const auto order = openb_order(*in, 42);
  ASSERT_TRUE(order);
  for (const Case& c : {Case{"fgd", "5d00abd03cafdbe6", 2532, 5919410, 6189, 291361.65},
                        Case{"gpu-best-fit", "c6c83a94f8161102", 2676, 5785450, 6112, 422360.83},
                        Case{"gpu-packing", "248133af2e7028c3", 2794, 5688580, 5972, 518404.81},
                        Case{"gpu-clustering", "79fc2d352000008f", 2797, 5686120, 5942, 519629.26},
                        Case{"dot-product", "ad16db8bae772c1e", 2874, 5624470, 5964, 584628.04}}) {
    const auto run = openb_run(*in, *order, 42, strategy::registry(), {c.strategy, {}});
    ASSERT_TRUE(run);
    EXPECT_EQ(run->digest, c.digest) << c.strategy;
    EXPECT_EQ(run->arrivals - run->placed, c.failed);
    EXPECT_EQ(run->allocated_milli, c.allocated);
    EXPECT_EQ(run->devices_used, c.devices);
    EXPECT_EQ(rounded_to_cents(run->fragment), c.fragment);
    if (std::string(c.strategy) != "fgd") continue;
    EXPECT_EQ(run->placed, 8334U);
    EXPECT_EQ(run->cpu_used, 89928302);
    EXPECT_EQ(run->memory_used, 313757356);
    EXPECT_EQ(run->failed.at("1"), 1412U);
    EXPECT_EQ(run->failed.at("part"), 1099U);
    EXPECT_EQ(run->failed.at("8"), 9U);
    const double cases[] = {138.43, 85.86, 1.23, 27.28, 6.06, 33.73, 0};
    for (std::size_t i = 0; i < 7; ++i) EXPECT_NEAR(run->cases[i] / 1000, cases[i], 0.005) << i;
  }
}

}  // namespace
}  // namespace berth::packing
