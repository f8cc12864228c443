// Behaviour shared by all strategies: feasibility, ties, cached scores, the registry.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cmath>

#include "berth/strategy.h"
#include "builders.h"
#include "strategy/classic.h"
#include "strategy/gpu_policies.h"
#include "strategy/sampling.h"

namespace berth::strategy {
namespace {

using namespace testing;  // builders.h

TEST(Fleet, FitsByTheRule) {  // R-STRAT-106
  Fleet fleet = fleet_of({{1000, 64, {300, 1000}}});
  EXPECT_TRUE(fleet.holds(0, task_of(1000, 1, 300, 64)));
  EXPECT_FALSE(fleet.holds(0, task_of(1001)));
  EXPECT_FALSE(fleet.holds(0, task_of(0, 0, 0, 65)));
  EXPECT_TRUE(fleet.holds(0, task_of(0, 1, 1000)));
  EXPECT_FALSE(fleet.holds(0, task_of(0, 2, 1000)));
  EXPECT_TRUE(fleet.holds(0, task_of(0, 2, 300)));
  const Fleet::NodeSpec one{{100, 100, 0, 0}, 0, 0};
  Fleet full(std::span(&one, 1), 2);
  const ClassId nothing = full.add_class({});
  full.place(0, nothing, 0);
  EXPECT_TRUE(full.feasible(0, full.task_class(nothing)));
  full.place(0, nothing, 0);
  EXPECT_FALSE(full.feasible(0, full.task_class(nothing)));
  full.remove(0, nothing, 0);
  EXPECT_TRUE(full.feasible(0, full.task_class(nothing)));
}

/// Simple implementation: visits every node each time.
template <class S>
std::optional<Row> oracle(const Fleet& fleet, const S& strategy, ClassId id) {
  std::optional<Row> best;
  double best_score = 0;
  for (Row row = 0; row < fleet.size(); ++row) {
    if (!fleet.feasible(row, fleet.task_class(id))) continue;
    const double s = strategy.score(fleet.node(row), fleet.task_class(id));
    if (!best || s > best_score) best = row, best_score = s;
  }
  return best;
}

template <class S>
void agrees_with_oracle(const S& strategy, std::uint64_t seed, std::size_t nodes) {
  Fleet fleet = random_fleet(seed, nodes, 12);
  auto ranker = make_ranker(strategy);
  std::mt19937_64 random(seed);
  std::vector<std::tuple<Row, ClassId, DeviceMask>> placed;
  for (int step = 0; step < 300; ++step) {
    const auto id = static_cast<ClassId>(random() % fleet.class_count());
    if (!placed.empty() && random() % 4 == 0) {
      std::swap(placed[random() % placed.size()], placed.back());
      const auto [row, gone, devices] = placed.back();
      fleet.remove(row, gone, devices);
      placed.pop_back();
    }
    const auto expected = oracle(fleet, strategy, id);
    const auto choice = ranker->choose(fleet, id);
    ASSERT_EQ(choice.has_value(), expected.has_value()) << "seed " << seed << " step " << step;
    if (!choice) continue;
    ASSERT_EQ(choice->row, *expected) << "seed " << seed << " step " << step;
    const TaskClass& task = fleet.task_class(id);
    ASSERT_EQ(std::popcount(choice->devices), task.gpus);
    for (DeviceMask rest = choice->devices; rest != 0; rest &= rest - 1)
      ASSERT_GE(fleet.node(choice->row).devices[static_cast<std::size_t>(std::countr_zero(rest))], task.gpu_milli);
    fleet.place(choice->row, id, choice->devices);
    placed.emplace_back(choice->row, id, choice->devices);
  }
}

TEST(NodeScan, CachedScoresEqualAFullScan) {  // R-STRAT-002, for integers and doubles, block edges included
  for (const std::size_t nodes : {1U, 63U, 64U, 65U, 130U}) {
    agrees_with_oracle(GpuBestFit{}, nodes, nodes);
    agrees_with_oracle(GpuPacking{}, nodes + 1, nodes);
    agrees_with_oracle(Fgd(testing::example_tables()), nodes + 2, nodes);
    agrees_with_oracle(LeastMax{}, nodes + 3, nodes);
    agrees_with_oracle(FirstFit{}, nodes + 4, nodes);
  }
  Fleet none(std::span<const Fleet::NodeSpec>{});
  EXPECT_FALSE(make_ranker(LeastMax{})->choose(none, none.add_class({})));
}

struct Odd {
  double score(const Node& node, const TaskClass&) const {
    return node.state.model == 0 ? std::nan("") : node.state.model == 1 ? kNoScore : -1e300;
  }
};
TEST(NodeScan, NanAndMinusInfinityAreTheLowestFeasibleScores) {
  Fleet fleet = fleet_of({{1, 1, {}, 0}, {1, 1, {}, 1}, {1, 1, {}, 2}});
  const ClassId id = fleet.add_class(task_of(1));
  auto ranker = make_ranker(Odd{});
  for (const Row row : {2U, 0U, 1U}) {
    const auto choice = ranker->choose(fleet, id);
    ASSERT_TRUE(choice);
    EXPECT_EQ(choice->row, row);
    fleet.place(choice->row, id, 0);
  }
  EXPECT_FALSE(ranker->choose(fleet, id));
}

/// Every strategy of the registry chooses only feasible nodes and permitted rows.
TEST(Strategies, ChooseFeasibleNodesOnly) {
  for (const StrategyInfo* info : registry().all()) {
    const StrategySpec spec{info->name, info->name == "sum"    ? Arguments{{"best-fit", "1"}, {"cosine", "0.5"}}
                                        : info->name == "expr" ? Arguments{{"formula", "left_cpu-left_gpu"}}
                                                               : Arguments{}};
    Fleet fleet = random_fleet(3, 70, 10);
    fleet.predict_run_times();
    auto ranker = registry().make(spec, context_of(fleet));
    ASSERT_TRUE(ranker) << info->name << ": " << ranker.error().line();
    std::mt19937_64 random(5);
    std::vector<std::uint64_t> without(2);
    for (int step = 0; step < 400; ++step) {
      const auto id = static_cast<ClassId>(random() % fleet.class_count());
      without[0] = random(), without[1] = random() & 63;
      const bool some = step % 3 == 0;
      const auto choice = (*ranker)->choose(fleet, id, some ? Exclusion(without) : Exclusion{});
      std::size_t feasible = 0;
      for (Row row = 0; row < fleet.size(); ++row)
        feasible += fleet.feasible(row, fleet.task_class(id)) && !(some && excluded(without, row));
      ASSERT_EQ(choice.has_value(), feasible > 0) << info->name << " step " << step;
      if (!choice) continue;
      ASSERT_TRUE(fleet.feasible(choice->row, fleet.task_class(id))) << info->name;
      ASSERT_FALSE(some && excluded(without, choice->row)) << info->name;
      ASSERT_EQ(std::popcount(choice->devices), fleet.task_class(id).gpus) << info->name;
      fleet.place(choice->row, id, choice->devices);
    }
    EXPECT_FALSE(info->formula.empty() || info->source.empty() || info->cost.empty()) << info->name;
  }
}

struct Wrong {
  const char *text, *problem, *remedy;
};
TEST(StrategyRegistry, NamesTheNearestAndListsTheValid) {
  const Wrong cases[] = {
      {"bestfit", "there is no such strategy", "did you mean 'best-fit'? valid: balanced-allocation, best-fit"},
      {"", "there is no such strategy", "valid: balanced-allocation"},
      {"fgd:device=best", "there is no parameter 'device'", "there are none"},
      {"best-fit:nrom=max", "there is no parameter 'nrom'", "did you mean 'norm'? valid: norm, w-cpu"},
      {"best-fit:norm=mox", "'norm' cannot be 'mox'", "did you mean 'max'? valid: node, max, reference"},
      {"best-fit:w-cpu=x", "'w-cpu' cannot be 'x'", "use -1 to"},
      {"best-fit:w-cpu=1:w-cpu=2", "'w-cpu' is given twice", "remove one"},
      {"requested-to-capacity:points=50-1/20-3", "'points' cannot be '50-1/20-3'", "use utilisation-score points"},
      {"requested-to-capacity:points=", "'points' cannot be ''", "use utilisation-score points"},
      {"power-of-k:k=0", "'k' cannot be '0'", "use 1 to"},
      {"power-of-k:k", "'k' is no parameter", "write name:key=value"},
      {"sum:cosine=much", "'much' is no weight", "write a number"},
      {"sum:cosin=1", "there is no parameter 'cosin'", "did you mean 'cosine'?"}};
  for (const Wrong& c : cases) {
    const auto spec = registry().parse(c.text);
    ASSERT_FALSE(spec) << c.text;
    EXPECT_NE(spec.error().problem.find(c.problem), std::string::npos) << spec.error().line();
    EXPECT_NE(spec.error().remedy.find(c.remedy), std::string::npos) << spec.error().line();
  }
  const auto spec = registry().parse("best-fit:norm=max:w-cpu=0.5");
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->text(), "best-fit:norm=max:w-cpu=0.5");
  Context bare;
  for (const char* name : {"fgd", "random", "sum"}) EXPECT_FALSE(registry().make({name, {}}, bare)) << name;
}

}  // namespace
}  // namespace berth::strategy
