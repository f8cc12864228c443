// Whom the rules evict: by hand, against all subsets, and on small clusters.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <tuple>

#include "sim/preemption_replay.h"

namespace berth::sim {
namespace {

using Positions = std::vector<std::uint32_t>;
using strategy::kGpu;

Evictable candidate(std::int32_t cpu, std::int32_t memory, std::int32_t priority, std::int64_t start_ns = 0,
                    double gain = 0) {
  return {.amounts = {cpu, memory, 0, 0}, .priority = priority, .start_ns = start_ns, .fragment_gain = gain};
}

// Nothing is free; 6 and 2 are asked of
//   0: 5, 1, priority 10     1: 6, 6, priority 40     2: 3, 3, priority 20, started later     3: 3, 1, priority 20
// Per part of what is asked 0 brings 5/6 + 1/2, 1 brings 6/6 + 2/2, 2 brings 3/6 + 2/2, 3 brings 3/6 + 1/2.
struct RuleCase {
  const char* name;
  VictimRule rule;
  Positions victims;
};
class Rule : public ::testing::TestWithParam<RuleCase> {};
TEST_P(Rule, FollowsTheExample) {
  const std::vector<Evictable> candidates = {candidate(5, 1, 10), candidate(6, 6, 40), candidate(3, 3, 20, 7, 5),
                                             candidate(3, 1, 20, 3)};
  const Shortage shortage{.ask = {6, 2, 0, 0}, .free = {}, .capacity = {17, 11, 0, 0}, .candidates = candidates};
  EXPECT_EQ(choose_victims(GetParam().rule, shortage), GetParam().victims);
}
INSTANTIATE_TEST_SUITE_P(
    Victims, Rule,
    ::testing::Values(
        RuleCase{"kubernetes", VictimRule::kubernetes, {0, 2}},          // R-STRAT-812: 1, then 3 (earlier) stay
        RuleCase{"fewest", VictimRule::fewest, {1}},                     // R-STRAT-813
        RuleCase{"least_priority", VictimRule::least_priority, {0, 2}},  // R-STRAT-814
        RuleCase{"lexicographic", VictimRule::lexicographic, {0, 2}},    // R-STRAT-815
        RuleCase{"fragments", VictimRule::fragments, {0, 2}},            // only 2 gains: not enough
        RuleCase{"exact_fewest", VictimRule::exact_fewest, {1}},
        RuleCase{"exact_priority", VictimRule::exact_priority, {0, 2}},  // 32, as 0 and 3 have: first by position
        RuleCase{"exact_lexicographic", VictimRule::exact_lexicographic, {0, 3}}),  // less left over
    [](const auto& test) { return std::string(test.param.name); });

TEST(Victims, NobodyOrNotEnough) {
  const std::vector<Evictable> candidates = {candidate(1, 1, 10)};
  for (const PreemptionRule& rule : preemption_rules()) {
    const Shortage fits{.ask = {1, 1, 0, 0}, .free = {1, 1, 0, 0}, .capacity = {9, 9, 0, 0}, .candidates = candidates};
    EXPECT_EQ(choose_victims(rule.victims, fits), Positions{}) << rule.name;
    const Shortage never{.ask = {3, 1, 0, 0}, .free = {1, 1, 0, 0}, .capacity = {9, 9, 0, 0}, .candidates = candidates};
    EXPECT_FALSE(choose_victims(rule.victims, never)) << rule.name;
    const Shortage none{.ask = {3, 1, 0, 0}, .free = {}, .capacity = {}, .candidates = {}};
    EXPECT_FALSE(choose_victims(rule.victims, none)) << rule.name;
  }
}

using Objective = std::tuple<double, double, double, double>;
Objective objective_of(VictimRule rule, const EvictionCost& cost) {
  const auto count = static_cast<double>(cost.count), sum = static_cast<double>(cost.priorities);
  if (rule == VictimRule::fewest || rule == VictimRule::exact_fewest) return {count, sum, cost.overshoot, 0};
  if (rule == VictimRule::least_priority || rule == VictimRule::exact_priority) return {sum + count, count, 0, 0};
  return {cost.highest, sum, count, cost.overshoot};
}

TEST(Victims, AreEnoughAndNeverBetterThanTheOptimum) {  // R-STRAT-816, 824
  std::mt19937_64 random(17);
  const auto below = [&](std::uint64_t n) { return static_cast<std::int32_t>(random() % n); };
  const std::pair<VictimRule, VictimRule> pairs[] = {{VictimRule::fewest, VictimRule::exact_fewest},
                                                     {VictimRule::least_priority, VictimRule::exact_priority},
                                                     {VictimRule::lexicographic, VictimRule::exact_lexicographic}};
  std::size_t optimal = 0, solved = 0;
  for (int round = 0; round < 300; ++round) {
    std::vector<Evictable> candidates(1 + random() % 9);
    for (Evictable& c : candidates)
      c = {.amounts = {below(6), below(6), below(3), 250 * below(3)},
           .priority = 10 * below(6),
           .start_ns = below(5),
           .fragment_gain = below(5) - 2.0};
    const Shortage s{.ask = {1 + below(9), 1 + below(9), below(3), 500 * below(3)},
                     .free = {below(3), below(3), below(3), 250 * below(2)},
                     .capacity = {50, 50, 20, 4000},
                     .candidates = candidates};
    std::vector<Positions> all;  // every subset that is enough
    for (std::size_t bits = 0; bits < std::size_t{1} << candidates.size(); ++bits) {
      Positions subset;
      for (std::uint32_t i = 0; i < candidates.size(); ++i)
        if ((bits >> i & 1) != 0) subset.push_back(i);
      if (enough(s, subset)) all.push_back(subset);
    }
    const bool fits = enough(s, {});
    for (const PreemptionRule& rule : preemption_rules()) {
      const auto victims = choose_victims(rule.victims, s);
      ASSERT_EQ(victims.has_value(), !all.empty()) << rule.name << " round " << round;
      if (!victims) continue;
      ASSERT_EQ(victims->empty(), fits) << rule.name << " round " << round;
      ASSERT_TRUE(enough(s, *victims)) << rule.name << " round " << round;
      ASSERT_TRUE(std::is_sorted(victims->begin(), victims->end())) << rule.name;
      ASSERT_EQ(std::adjacent_find(victims->begin(), victims->end()), victims->end()) << rule.name;
    }
    if (all.empty()) continue;
    // Kubernetes': nobody could stay.
    const Positions kubernetes = *choose_victims(VictimRule::kubernetes, s);
    for (std::size_t i = 0; i < kubernetes.size(); ++i) {
      Positions without = kubernetes;
      without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
      ASSERT_FALSE(enough(s, without)) << "round " << round;
    }
    for (const auto& [greedy, exact] : pairs) {
      const Positions found = *choose_victims(exact, s);
      const Objective at = objective_of(exact, cost_of(s, found, 10));
      Objective best = at;
      Positions smallest = found;
      for (const Positions& subset : all)
        if (const Objective o = objective_of(exact, cost_of(s, subset, 10));
            o < best || (o == best && subset < smallest))
          best = o, smallest = subset;
      ASSERT_EQ(at, best) << "round " << round;
      const Objective heuristic = objective_of(greedy, cost_of(s, *choose_victims(greedy, s), 10));
      ASSERT_GE(heuristic, best) << "round " << round;
      optimal += heuristic == best, ++solved;
    }
  }
  EXPECT_GT(optimal, solved / 2);
}

TEST(Victims, SearchesOfManyEndAndAreNoWorseThanGreedy) {
  std::mt19937_64 random(4);
  std::vector<Evictable> candidates(120);
  for (Evictable& c : candidates)
    c = candidate(1 + static_cast<std::int32_t>(random() % 9), 1 + static_cast<std::int32_t>(random() % 9),
                  static_cast<std::int32_t>(random() % 50));
  const Shortage s{.ask = {150, 170, 0, 0}, .free = {}, .capacity = {700, 700, 0, 0}, .candidates = candidates};
  const auto cost = [&](VictimRule rule) { return cost_of(s, *choose_victims(rule, s), 0); };
  EXPECT_LE(cost(VictimRule::exact_fewest).count, cost(VictimRule::fewest).count);
  EXPECT_LE(
      cost(VictimRule::exact_priority).priorities + static_cast<std::int64_t>(cost(VictimRule::exact_priority).count),
      cost(VictimRule::least_priority).priorities + static_cast<std::int64_t>(cost(VictimRule::least_priority).count));
  EXPECT_LE(cost(VictimRule::exact_lexicographic).highest, cost(VictimRule::lexicographic).highest);
}

TEST(NodeChoice, ByHand) {
  // Two victims of 20 and 30 started at 4 and 6 s, now 10 s; fit score 0.5.
  const std::vector<Evictable> candidates = {candidate(1, 1, 20, 4'000'000'000), candidate(1, 1, 30, 6'000'000'000)};
  const Shortage s{.ask = {2, 1, 0, 0}, .free = {}, .capacity = {10, 10, 0, 0}, .candidates = candidates};
  const EvictionCost cost = cost_of(s, Positions{0, 1}, 10'000'000'000);
  EXPECT_EQ(cost.priorities, 50);
  EXPECT_EQ(cost.highest, 30);
  EXPECT_DOUBLE_EQ(cost.run_time_s, 10);
  EXPECT_DOUBLE_EQ(cost.overshoot, 0.1);
  EXPECT_EQ(cost.latest_of_highest_ns, 6'000'000'000);
  EXPECT_NEAR(node_key(NodeRule::nomad, cost, 0.5)[0], -(0.5 + 0.999937) / 2, 1e-6);  // R-STRAT-821
  EXPECT_EQ(node_key(NodeRule::kubernetes, cost, 0)[1], 50 + 2 * 2147483648.0);       // R-STRAT-822
  EXPECT_EQ(node_key(NodeRule::fewest, cost, 0)[0], 2);
  EXPECT_EQ(node_key(NodeRule::least_priority, cost, 0)[0], 52);
  EXPECT_EQ(node_key(NodeRule::overshoot, cost, 0)[0], 0.1);
  EXPECT_EQ(node_key(NodeRule::run_time, cost, 0)[0], 10);
}

/// Nodes of 10; tasks by size and priority, one after the other, a second apart.
struct Arrival {
  std::int32_t size, priority;
  std::int64_t run_time_s = 1000;
};
PreemptionRun replay(std::size_t nodes, const std::vector<Arrival>& arrivals, const char* rule,
                     PreemptionOptions options = {}) {
  PackingProblem problem;
  problem.nodes.assign(nodes, {{10, 10, 0, 0}, 0, 0});
  problem.node_classes.assign(nodes, "n");
  problem.models = {""};
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    strategy::TaskClass task;
    task.ask = {arrivals[i].size, 1, 0, 0}, task.priority = arrivals[i].priority;
    problem.classes.push_back(task);
    problem.arrivals.push_back({.due_ns = static_cast<std::int64_t>(i) * 1'000'000'000,
                                .run_time_ns = arrivals[i].run_time_s * 1'000'000'000,
                                .task = static_cast<strategy::ClassId>(i),
                                .count = 1,
                                .job = static_cast<std::uint32_t>(i)});
  }
  problem.jobs = static_cast<std::uint32_t>(arrivals.size());
  std::vector<std::uint32_t> order(nodes);
  std::iota(order.begin(), order.end(), 0U);
  auto run = replay_preemption(problem, problem.context(), order, options, strategy::registry(), {"first-fit", {}},
                               *find_preemption_rule(rule));
  EXPECT_TRUE(run);
  return std::move(*run);
}

TEST(PreemptionReplay, CountsCascadesAndWhoComesBack) {
  // 10 on the first node, 30 on the second; 50 evicts the 30, which has run shorter, and the 30 evicts the 10.
  const PreemptionRun chain = replay(2, {{10, 10}, {10, 30}, {10, 50}}, "least-run-time");
  EXPECT_EQ(chain.preemptions, 2U);
  EXPECT_EQ(chain.victims, 2U);
  EXPECT_EQ(chain.victim_priorities, 40);
  EXPECT_EQ(chain.cascades, 1U);
  EXPECT_EQ(chain.cascade_depth_max, 1U);
  EXPECT_EQ(chain.placed_again, 1U);
  EXPECT_EQ(chain.running, 2U);
  EXPECT_DOUBLE_EQ(chain.priority_running_percent, 100 * 80.0 / 90);
  EXPECT_NEAR(chain.lost_cpu_ghz_h, (1 + 2) * 10 / 1000.0 / 3600, 1e-12);  // 30 ran for 1 s, 10 for 2 s
  // The lowest priority goes: no cascade.
  const PreemptionRun lowest = replay(2, {{10, 10}, {10, 30}, {10, 50}}, "lexicographic");
  EXPECT_EQ(lowest.victims, 1U);
  EXPECT_EQ(lowest.cascades, 0U);
  EXPECT_EQ(lowest.placed_again, 0U);
  // It waits until somebody leaves.
  const PreemptionRun waits = replay(2, {{10, 10}, {10, 30, 5}, {10, 50}, {1, 0}, {1, 0}, {1, 0}, {1, 0}, {1, 0}},
                                     "lexicographic", {.departures = true});
  EXPECT_EQ(waits.placed_again, 1U);
}

TEST(PreemptionReplay, SparesWhoIsNotEligible) {  // R-STRAT-802
  EXPECT_EQ(replay(1, {{10, 41}, {10, 50}}, "lexicographic").victims, 0U);
  EXPECT_EQ(replay(1, {{10, 40}, {10, 50}}, "lexicographic").victims, 1U);
  const PreemptionOptions lower{.eligible = Eligibility::kubernetes};
  EXPECT_EQ(replay(1, {{10, 49}, {10, 50}}, "lexicographic", lower).victims, 1U);
  EXPECT_EQ(replay(1, {{10, 50}, {10, 50}}, "lexicographic", lower).victims, 0U);
}

TEST(PreemptionReplay, FreesDevicesNotThousandths) {  // R-STRAT-818
  PackingProblem problem;
  problem.nodes = {{{10, 10, 0, 0}, 1, 2}};
  problem.node_classes = {"n"};
  problem.models = {"", "T4"};
  const auto gpu_task = [](std::int32_t gpus, std::int32_t milli, std::int32_t priority) {
    strategy::TaskClass task;
    task.ask = {1, 1, 0, 0}, task.gpus = gpus, task.gpu_milli = milli, task.priority = priority;
    return task;
  };
  problem.classes = {gpu_task(1, 600, 10), gpu_task(1, 1000, 50), gpu_task(1, 500, 60)};
  // 600 on each device; a whole one costs one victim; then 500 fits only where the other 600 is.
  problem.arrivals = {{.due_ns = 0, .task = 0, .count = 2, .job = 0},
                      {.due_ns = 1, .task = 1, .count = 1, .job = 1},
                      {.due_ns = 2, .task = 2, .count = 1, .job = 2}};
  problem.jobs = 3;
  for (const PreemptionRule& rule : preemption_rules()) {
    const auto run =
        replay_preemption(problem, problem.context(), {0}, {}, strategy::registry(), {"first-fit", {}}, rule);
    ASSERT_TRUE(run);
    EXPECT_EQ(run->victims, 2U) << rule.name;
    if (rule.node != NodeRule::run_time) {  // the 50 has run shorter
      EXPECT_EQ(run->victim_priority_max, 10) << rule.name;
    }
    EXPECT_EQ(run->running, 2U) << rule.name;
  }
}

}  // namespace
}  // namespace berth::sim
