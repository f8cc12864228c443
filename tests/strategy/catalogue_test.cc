// Every strategy of the registry, one row each: its decisions on clusters small enough to check by hand, whether it
// depends on the order of the nodes, and how its score changes as nodes fill up. A strategy without a row fails.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <numeric>

#include "builders.h"
#include "strategy/classic.h"

namespace berth::strategy {
namespace {

using namespace testing;  // builders.h

enum class Nodes : std::uint8_t {
  plain,  ///< 1,000 MHz and 1,000 MiB each; free 600 and 400; 1,000 and 1,000; 400 and 300; 100 and 900
  gpu,    ///< devices 8 x 1000; 400, 1000; 200, 700; with 96,000, 64,000 and 32,000 of cpu
};
/// Results that do not change if the nodes are permuted.
enum class Order : std::uint8_t {
  free,      ///< the scores, so the chosen node up to ties
  all_seen,  ///< the same where the search sees all nodes (`all` makes it)
  drawn,     ///< every feasible node is chosen by equally many sequences of draws
  rule,      ///< the strategy is a rule about the order
  times,     ///< predicted run times come first: lifetimes_test.cc
};
/// On nodes that fill up equally in all amounts the score ...
enum class Slope : std::uint8_t { rises, falls, stays, none };

struct Entry {
  const char* text;  ///< the first word is the strategy
  Nodes nodes;
  /// plain: of a task of 600 MHz and 500 MiB, for which only row 1 has room, then of one of 200 and 100.
  /// gpu: of a task of 4,000 of cpu and 300 thousandths of a device, which rows 0, 1 and 2 can hold.
  std::vector<Row> rows;
  DeviceMask devices;
  std::vector<std::uint32_t> draws;  ///< results of the random source, in order
  Order order;
  Slope slope;
  const char* all = "";  ///< parameters with which the search sees all nodes
};

// plain, the second task, after the first took row 1 to (400, 500) free; left are (400, 300), (200, 400), (200, 200):
//   best-fit          mean left .35, .3, .2                        worst-fit   the reverse
//   l2                4 and 8.192 weigh .4^2 and .3^2: 1.38; .2^2 and .4^2: 1.47; .2^2 and .2^2: .49
//   least-max         fullest after: .7, .8, .8                    tetris      (.12 + .04) / 2, (.08 + .05) / 2, (.08 +
//   .03) / 2 cosine            (2, 1) against (6, 4), (4, 5), (4, 3): .992, .908, .984 dominating-share  200 / 800 on
//   every node nomad             10^.4 + 10^.3 = 4.5, 10^.2 + 10^.4 = 4.1, 2 * 10^.2 = 3.2: least packs, most spreads
//   Kubernetes        least 35, 30, 20; most 65, 70, 80; balance 94 or 95, 90, 100; default 129 or 130, 120, 120
//   nilas, lava       no task ends: the nodes in use cost the same, row 1 is full without a prediction; then best-fit
//   sum               best-fit + cosine: .642, .608, .784
// gpu:
//   dot-product       d = .0609, .0222, .0120: 96, 98, 99          gpu-best-fit r = .84, .30, .147: 15, 69, 85
//   gpu-packing       25 unused; 400 -> 96; 700 -> 93
//   gpu-clustering    0 + 25; 20 + 75; 22 + 75: parts of devices everywhere but on row 0
//   fgd (workload of R-STRAT-217) row 0: F 1600 -> 1750, 46; row 1: 700 -> 400 on device 0, 57, -> 750 on device 1; row
//                     2: 550 -> 600, 48
//   pwr               205 W: a package and a device are started; 145 W and 145 W: a package
// Draws: random takes one of three, then keeps device c whenever draw(c) is 0; random-fit keeps node c in the same way;
// power-of-k and nomad-limit draw without replacement: 0, 0, 0 for the first task: rows 0, 1, 2, 3; then row 3 (too
// full), 2 and 1. Of equals, least-max prefers the earlier, nomad-binpack the fuller.
const std::vector<Entry>& catalogue() {
  using enum Nodes;
  static const std::vector<Entry> kRows = {
      {"first-fit", plain, {1, 0}, 0, {}, Order::rule, Slope::stays},
      {"next-fit", plain, {1, 1}, 0, {}, Order::rule, Slope::none},
      {"random-fit", plain, {1, 2}, 0, {0, 0, 1, 0}, Order::drawn, Slope::none},
      {"best-fit", plain, {1, 2}, 0, {}, Order::free, Slope::rises},
      {"worst-fit", plain, {1, 0}, 0, {}, Order::free, Slope::falls},
      {"least-max", plain, {1, 0}, 0, {}, Order::free, Slope::falls},
      {"tetris", plain, {1, 0}, 0, {}, Order::free, Slope::falls},
      {"cosine", plain, {1, 0}, 0, {}, Order::free, Slope::none},  // depends on the shape, not the size
      {"l2", plain, {1, 2}, 0, {}, Order::free, Slope::rises},
      {"dominating-share", plain, {1, 0}, 0, {}, Order::free, Slope::stays},  // ignores the use
      {"nomad-binpack", plain, {1, 2}, 0, {}, Order::free, Slope::rises},
      {"nomad-spread", plain, {1, 0}, 0, {}, Order::free, Slope::falls},
      {"least-allocated", plain, {1, 0}, 0, {}, Order::free, Slope::falls},
      {"most-allocated", plain, {1, 2}, 0, {}, Order::free, Slope::rises},
      {"balanced-allocation", plain, {1, 2}, 0, {}, Order::free, Slope::stays},
      {"requested-to-capacity", plain, {1, 2}, 0, {}, Order::free, Slope::rises},
      {"kubernetes-default", plain, {1, 0}, 0, {}, Order::free, Slope::falls},
      {"expr:1-(left_cpu/total_cpu+left_memory/total_memory)/2", plain, {1, 2}, 0, {}, Order::free, Slope::rises},
      {"sum:best-fit=1:cosine=1", plain, {1, 2}, 0, {}, Order::free, Slope::none},
      {"power-of-k", plain, {1, 1}, 0, {0, 0, 0, 3, 1, 0}, Order::all_seen, Slope::none, ":k=1000000"},
      {"nomad-limit", plain, {1, 2}, 0, {0, 0, 0, 3, 1, 0}, Order::all_seen, Slope::none, ":limit=1000000"},
      {"kubernetes-sampling", plain, {1, 0}, 0, {}, Order::all_seen, Slope::none, ":percent=100"},
      {"nilas", plain, {1, 2}, 0, {}, Order::times, Slope::none},
      {"lava", plain, {1, 2}, 0, {}, Order::times, Slope::none},
      {"random", gpu, {1}, 0b01, {1, 0, 1}, Order::drawn, Slope::none},
      {"dot-product", gpu, {2}, 0b10, {}, Order::free, Slope::rises},
      {"gpu-clustering", gpu, {2}, 0b10, {}, Order::free, Slope::rises},
      {"gpu-packing", gpu, {1}, 0b01, {}, Order::free, Slope::rises},
      {"gpu-best-fit", gpu, {2}, 0b10, {}, Order::free, Slope::rises},
      {"fgd", gpu, {1}, 0b01, {}, Order::free, Slope::none},  // a fuller device may be worth less or more
      {"pwr", gpu, {1}, 0b01, {}, Order::free, Slope::none},  // 0 until a package or device is started
  };
  return kRows;
}
std::string name_of(const Entry& row) { return std::string(row.text).substr(0, std::string(row.text).find(':')); }

std::unique_ptr<Ranker> ranker_of(const std::string& text, const Context& context) {
  const auto spec = registry().parse(text);
  EXPECT_TRUE(spec) << spec.error().line();
  auto ranker = registry().make(*spec, context);
  EXPECT_TRUE(ranker) << text << ": " << ranker.error().line();
  return std::move(*ranker);
}

TEST(Catalogue, HasARowForEveryStrategy) {
  for (const StrategyInfo* info : registry().all())
    EXPECT_EQ(std::count_if(catalogue().begin(), catalogue().end(),
                            [&](const Entry& row) { return name_of(row) == info->name; }),
              1)
        << info->name << " has no row with an example worked by hand";
  EXPECT_EQ(catalogue().size(), registry().all().size());
}

TEST(Catalogue, DecidesLikeValuesComputedByHand) {
  for (const Entry& row : catalogue()) {
    SCOPED_TRACE(row.text);
    Fleet fleet =
        row.nodes == Nodes::gpu
            ? fleet_of(
                  {{96'000, 1, std::vector<std::int16_t>(8, 1000)}, {64'000, 1, {400, 1000}}, {32'000, 1, {200, 700}}})
            : fleet_of(std::vector<testing::NodeCase>(4, {1000, 1000}));
    if (row.nodes == Nodes::plain)
      for (const auto& [at, cpu, memory] : {std::tuple{0U, 400, 600}, {2U, 600, 700}, {3U, 900, 100}})
        fleet.place(at, fleet.add_class(task_of(cpu, 0, 0, memory)), 0);
    std::vector<ClassId> tasks;
    if (row.nodes == Nodes::gpu)
      tasks = {fleet.add_class(task_of(4'000, 1, 300))};
    else
      tasks = {fleet.add_class(task_of(600, 0, 0, 500)), fleet.add_class(task_of(200, 0, 0, 100))};
    fleet.predict_run_times();
    Context context = context_of(fleet);
    std::deque<std::uint32_t> draws(row.draws.begin(), row.draws.end());
    context.draw = [&](std::uint32_t bound) {
      EXPECT_FALSE(draws.empty());
      const std::uint32_t drawn = draws.empty() ? 0 : draws.front();
      if (!draws.empty()) draws.pop_front();
      EXPECT_LT(drawn, bound);
      return drawn;
    };
    const auto ranker = ranker_of(row.text, context);
    ASSERT_EQ(row.rows.size(), tasks.size());
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      const auto choice = ranker->choose(fleet, tasks[i]);
      ASSERT_TRUE(choice);
      EXPECT_EQ(choice->row, row.rows[i]) << "task " << i;
      EXPECT_EQ(choice->devices, row.devices) << "task " << i;
      fleet.place(choice->row, tasks[i], choice->devices);
    }
    EXPECT_TRUE(draws.empty());
  }
}

/// `fleet` with its nodes in another order: row r is node order[r], tasks included.
struct Placement {
  Row row;
  ClassId task;
  DeviceMask devices;
};
Fleet reordered(const Fleet& fleet, const std::vector<Placement>& placed, const std::vector<Row>& order) {
  std::vector<Fleet::NodeSpec> specs;
  std::vector<Row> now(order.size());
  for (Row row = 0; row < order.size(); ++row) {
    const NodeState& state = fleet.node(order[row]).state;
    specs.push_back({state.capacity, state.model, state.device_count, state.kind});
    now[order[row]] = row;
  }
  Fleet out(specs);
  for (ClassId id = 0; id < fleet.class_count(); ++id) {
    TaskClass task = fleet.task_class(id);
    std::fill(task.eligible.begin(), task.eligible.end(), 0);
    if (!task.eligible.empty())
      for (Row row = 0; row < order.size(); ++row)
        if (fleet.task_class(id).may_run_on(order[row])) task.eligible[row / 64] |= std::uint64_t{1} << (row % 64);
    out.add_class(std::move(task));
  }
  for (const Placement& p : placed) out.place(now[p.row], p.task, p.devices);
  return out;
}

TEST(Catalogue, ScoresBelongToNodesNotToPlaces) {
  std::vector<Placement> placed;
  Fleet fleet = random_fleet(21, 90, 10);
  const auto filler = ranker_of("random-fit", context_of(fleet));
  for (ClassId step = 0; step < 250; ++step)
    if (const auto choice = filler->choose(fleet, step % 10)) {
      placed.push_back({choice->row, step % 10, choice->devices});
      fleet.place(choice->row, step % 10, choice->devices);
    }
  std::vector<Row> order(fleet.size());
  std::iota(order.begin(), order.end(), 0U);
  std::mt19937_64 random(22);
  std::shuffle(order.begin(), order.end(), random);
  const Fleet other = reordered(fleet, placed, order);
  for (const Entry& row : catalogue()) {
    if (row.order != Order::free && row.order != Order::all_seen) continue;
    const std::string text = std::string(row.text) + row.all;
    // Scores that decide the choice: the strategy's own, or those of the inner strategy.
    std::string inner = text;
    if (row.order == Order::all_seen)
      for (const ParameterInfo& p : registry().find(name_of(row))->parameters)
        if (p.name == "inner") inner = p.fallback;
    const auto here = ranker_of(text, context_of(fleet)), there = ranker_of(text, context_of(other));
    const auto judge = ranker_of(inner, context_of(fleet)), judge_there = ranker_of(inner, context_of(other));
    for (ClassId id = 0; id < 10; ++id) {
      SCOPED_TRACE(text + " class " + std::to_string(id));
      const auto scores = judge->scores(fleet, id), moved = judge_there->scores(other, id);
      for (Row r = 0; r < order.size(); ++r) ASSERT_EQ(moved[r], scores[order[r]]);
      const auto a = here->choose(fleet, id), b = there->choose(other, id);
      ASSERT_EQ(a.has_value(), b.has_value());
      if (!a) continue;
      const double best = *std::max_element(scores.begin(), scores.end());
      EXPECT_EQ(scores[a->row], best);
      EXPECT_EQ(scores[order[b->row]], best);
      if (std::count(scores.begin(), scores.end(), best) == 1) {
        EXPECT_EQ(a->row, order[b->row]);
      }
    }
  }
}

/// Calls `one(draw)` for every sequence of draws that a strategy can make, each exactly once.
template <class F>
void each_sequence_of_draws(F one) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> taken;  // value, bound
  for (bool more = true; more;) {
    std::size_t at = 0;
    one([&](std::uint32_t bound) {
      if (at == taken.size()) taken.emplace_back(0, bound);
      return taken[at++].first;
    });
    while (!taken.empty() && taken.back().first + 1 == taken.back().second) taken.pop_back();
    more = !taken.empty();
    if (more) ++taken.back().first;
  }
}

TEST(Catalogue, RandomChoicesAreUniform) {
  const Fleet empty = fleet_of({{500}, {10}, {700}, {600}, {900}});
  for (const Entry& row : catalogue()) {
    std::string text = row.text;
    if (name_of(row) == "power-of-k")
      text += ":k=1";  // one of one is uniform too
    else if (row.order != Order::drawn)
      continue;
    std::map<Row, double> chance;
    each_sequence_of_draws([&](const auto& draw) {
      Fleet fleet = empty;
      const ClassId id = fleet.add_class(task_of(100));
      Context context = context_of(fleet);
      double weight = 1;
      context.draw = [&](std::uint32_t bound) {
        weight /= bound;
        return draw(bound);
      };
      const auto choice = ranker_of(text, context)->choose(fleet, id);
      ASSERT_TRUE(choice);
      chance[choice->row] += weight;
    });
    EXPECT_EQ(chance.size(), 4U) << text;
    for (const auto& [at, p] : chance) EXPECT_NEAR(p, 0.25, 1e-12) << text << " row " << at;
  }
}

TEST(Catalogue, RulesThatUseTheNodeOrderFollowIt) {  // R-STRAT-701, 702
  Fleet fleet = random_fleet(31, 70, 6);
  const auto first = ranker_of("first-fit", context_of(fleet)), next = ranker_of("next-fit", context_of(fleet));
  Row cursor = 0;
  for (ClassId step = 0; step < 400; ++step) {
    const ClassId id = step % 6;
    std::optional<Row> lowest, following;
    for (Row i = 0; i < fleet.size(); ++i) {
      const Row wrapped = (cursor + i) % static_cast<Row>(fleet.size());
      if (!lowest && fleet.feasible(i, fleet.task_class(id))) lowest = i;
      if (!following && fleet.feasible(wrapped, fleet.task_class(id))) following = wrapped;
    }
    const auto a = first->choose(fleet, id), b = next->choose(fleet, id);
    ASSERT_EQ(a.has_value(), lowest.has_value());
    ASSERT_EQ(b.has_value(), following.has_value());
    if (!a) continue;
    ASSERT_EQ(a->row, *lowest);
    ASSERT_EQ(b->row, *following);
    cursor = b->row;
    fleet.place(b->row, id, b->devices);
  }
}

TEST(Catalogue, SearchesThatSeeAllNodesAreExhaustive) {  // R-STRAT-715 to 717, with every strategy inside
  for (const Entry& row : catalogue()) {
    if (row.order != Order::all_seen) continue;
    const StrategyInfo* const info = registry().find(name_of(row));
    const auto parameter = std::find_if(info->parameters.begin(), info->parameters.end(),
                                        [](const ParameterInfo& p) { return p.name == "inner"; });
    ASSERT_NE(parameter, info->parameters.end());
    // On ties Nomad takes the node it saw first, the others the node visited first.
    const bool ties_by_order = name_of(row) != "nomad-limit";
    for (const std::string& inner : parameter->choices) {
      SCOPED_TRACE(name_of(row) + " of " + inner);
      Fleet fleet = random_fleet(9, 130, 8);
      const auto exhaustive = ranker_of(inner, context_of(fleet));
      const auto sampled = ranker_of(name_of(row) + row.all + ":inner=" + inner, context_of(fleet));
      for (ClassId step = 0; step < 120; ++step) {
        const ClassId id = step % 8;
        const auto a = exhaustive->choose(fleet, id), b = sampled->choose(fleet, id);
        ASSERT_EQ(a.has_value(), b.has_value());
        if (!a) continue;
        ASSERT_EQ(a->score, b->score) << "step " << step;
        if (ties_by_order) {
          ASSERT_EQ(a->row, b->row) << "step " << step;
          ASSERT_EQ(a->devices, b->devices) << "step " << step;
        }
        fleet.place(a->row, id, a->devices);
      }
    }
  }
}

TEST(Catalogue, ScoresAreMonotoneAsNodesFillUp) {
  // Node k of 64,000 MHz, 64,000 MiB and 8 devices has k thousands used of both and 50 k thousandths of the first
  // device.
  Fleet fleet = fleet_of(std::vector<testing::NodeCase>(15, {64'000, 64'000, std::vector<std::int16_t>(8, 1000)}));
  for (Row k = 1; k < fleet.size(); ++k) {
    const auto used = static_cast<std::int32_t>(k);
    fleet.place(k, fleet.add_class(task_of(1000 * used, 1, 50 * used, 1000 * used)), 1);
  }
  const ClassId id = fleet.add_class(task_of(1'000, 1, 300, 1'000));
  for (const Entry& row : catalogue()) {
    if (row.slope == Slope::none) continue;
    const auto ranker = ranker_of(row.text, context_of(fleet));
    const auto scores = ranker->scores(fleet, id);
    ASSERT_EQ(scores.size(), fleet.size()) << row.text;
    for (Row k = 1; k < fleet.size(); ++k)
      EXPECT_TRUE(row.slope == Slope::rises   ? scores[k] >= scores[k - 1]
                  : row.slope == Slope::falls ? scores[k] <= scores[k - 1]
                                              : scores[k] == scores[k - 1])
          << row.text << ": " << scores[k - 1] << " then " << scores[k] << " on node " << k;
    if (row.slope != Slope::stays) {
      EXPECT_NE(scores.front(), scores.back()) << row.text;
    }
  }
}

// R-STRAT-007. The node of 1,000 MHz and 1,000 MiB has 400 and 600 free before a task of 100 and 200, so 300 and 400
// after it; weights of best-fit and others are 1/2 each, or are divided by their sum.
TEST(FitComponent, AgreesWithValuesComputedByHand) {
  Fleet fleet = fleet_of({{1000, 1000}});
  fleet.place(0, fleet.add_class(task_of(600, 0, 0, 400)), 0);
  const TaskClass task = task_of(100, 0, 0, 200);
  const double phi = 20 - std::pow(10, 1 - .7) - std::pow(10, 1 - .6);
  struct Case {
    const char* text;
    double component;
  };
  for (const Case& c :
       std::initializer_list<Case>{{"best-fit", 1 - (.3 + .4) / 2},
                                   {"best-fit:w-cpu=3:w-memory=1", 1 - (3 * .3 + .4) / 4},
                                   {"worst-fit", (.3 + .4) / 2},
                                   {"worst-fit:w-cpu=3:w-memory=1", (3 * .3 + .4) / 4},
                                   {"least-max", 1 - .7},
                                   {"tetris", (.1 * .4 + .2 * .6) / 2},
                                   {"tetris:w-cpu=0:w-memory=0", 0},
                                   {"cosine", (.1 * .4 + .2 * .6) / std::sqrt((.01 + .04) * (.16 + .36))},
                                   {"l2:weights=one", 1 - (.09 + .16) / 2},
                                   {"dominating-share", .25 / 1.25},  // 200 / 800: a quarter, of the whole a fifth
                                   {"nomad-binpack", phi / 18},       //
                                   {"nomad-spread", 1 - phi / 18},    //
                                   {"first-fit", 0},                  //
                                   {"least-allocated", .35},          // (30 + 40) / 2
                                   {"most-allocated", .65},           //
                                   {"balanced-allocation", .95},      // 100 (1 - |.7 - .6| / 2)
                                   {"requested-to-capacity", .65},    //
                                   {"kubernetes-default", (.35 + .95) / 2},  //
                                   {"expr:1-(left_cpu/total_cpu+left_memory/total_memory)/2", .65},
                                   {"gpu-best-fit", .99},  // (400 - 100) / 128,000 are left of the reference
                                   {"dot-product", .99},   // 400 * 100 / 128,000^2
                                   {"gpu-packing", 0},     // 0 everywhere without GPUs
                                   {"fgd", .5},            // no idle GPU, so no change
                                   {"sum:least-max=1:worst-fit=3", (.3 + 3 * .35) / 4},
                                   {"sum:least-max=1:worst-fit=-3", (.3 + 3 * .65) / 4},
                                   {"sum:least-max=0", 0}}) {
    SCOPED_TRACE(c.text);
    const auto ranker = ranker_of(c.text, context_of(fleet));
    const FitFunction fit = ranker->fit();
    ASSERT_TRUE(fit);
    const Node node = fleet.node(0);
    double component = -1;
    fit({&node, 1}, task, {&component, 1});
    EXPECT_NEAR(component, c.component, 1e-12);
  }
}

TEST(FitComponent, LiesBetweenZeroAndOneAndKeepsTheOrder) {
  Fleet fleet = random_fleet(41, 150, 12);
  const auto filler = ranker_of("random-fit", context_of(fleet));
  for (ClassId step = 0; step < 400; ++step)
    if (const auto choice = filler->choose(fleet, step % 12)) fleet.place(choice->row, step % 12, choice->devices);
  std::vector<Node> nodes;
  for (Row row = 0; row < fleet.size(); ++row) nodes.push_back(fleet.node(row));
  for (const Entry& row : catalogue()) {
    SCOPED_TRACE(row.text);
    const auto ranker = ranker_of(row.text, context_of(fleet));
    const bool scored = row.order == Order::free || name_of(row) == "first-fit";
    EXPECT_EQ(static_cast<bool>(ranker->fit()), scored);
    const auto made = registry().make_fit(*registry().parse(row.text), context_of(fleet));
    EXPECT_EQ(made.has_value(), scored);
    if (!scored) continue;
    for (ClassId id = 0; id < 12; ++id) {
      std::vector<double> fits(nodes.size());
      ranker->fit()(nodes, fleet.task_class(id), fits);
      const auto scores = ranker->scores(fleet, id);
      for (std::size_t a = 0; a < nodes.size(); ++a) {
        ASSERT_GE(fits[a], 0);
        ASSERT_LE(fits[a], 1);
        const std::size_t b = (a * 7 + 1) % nodes.size();
        if (scores[a] == kNoScore || scores[b] == kNoScore) continue;
        ASSERT_EQ(scores[a] > scores[b] && fits[a] < fits[b], false) << scores[a] << " " << scores[b];
        // Nothing is clamped: different scores give different components, except for the rounding of a sum.
        if (std::abs(scores[a] - scores[b]) > 1e-9) {
          ASSERT_NE(fits[a], fits[b]) << scores[a] << " " << scores[b];
        }
      }
    }
  }
}

struct Strange {
  double score(const Node& node, const TaskClass&) const {
    const double scores[] = {std::nan(""), -1, 7, std::numeric_limits<double>::infinity(), .25};
    return scores[node.state.model];
  }
};
TEST(FitComponent, IsClampedToItsRange) {
  const Fleet fleet = fleet_of({{1, 1, {}, 0}, {1, 1, {}, 1}, {1, 1, {}, 2}, {1, 1, {}, 3}, {1, 1, {}, 4}});
  const double expected[] = {0, 0, 1, 1, .25};
  for (Row row = 0; row < fleet.size(); ++row)
    EXPECT_EQ(fit_component(Strange{}, fleet.node(row), TaskClass{}), expected[row]) << row;
}

TEST(KubernetesSampling, ContinuesWhereItEnded) {  // R-STRAT-717
  // 200 nodes: 49 % are 98, so 100 feasible nodes are examined. Of equals the first: 0, then 100 of 100 to 199, and on
  // the second round the next emptiest.
  Fleet fleet = fleet_of(std::vector<testing::NodeCase>(200, {1000, 1000}));
  const ClassId id = fleet.add_class(task_of(100, 0, 0, 100));
  const auto ranker = ranker_of("kubernetes-sampling:inner=least-max", context_of(fleet));
  for (const Row expected : {0U, 100U, 1U, 101U, 2U}) {
    const auto choice = ranker->choose(fleet, id);
    ASSERT_TRUE(choice);
    EXPECT_EQ(choice->row, expected);
    fleet.place(choice->row, id, 0);
  }
}

TEST(SumStrategy, RescalesLikeTheReference) {  // R-STRAT-314, 323
  // gpu-best-fit 15, 69 and 85 become (s - 15) 100 div 70: 0, 77 and 100; gpu-packing keeps 25, 96 and 93. With rescale
  // both come to 0..1 afterwards.
  Fleet fleet =
      fleet_of({{96'000, 1, std::vector<std::int16_t>(8, 1000)}, {64'000, 1, {400, 1000}}, {32'000, 1, {200, 700}}});
  const ClassId id = fleet.add_class(task_of(4'000, 1, 300));
  const auto sum = ranker_of("sum:gpu-best-fit=1:gpu-packing=2", context_of(fleet));
  const auto scores = sum->scores(fleet, id);
  EXPECT_EQ(std::vector<double>(scores.begin(), scores.end()), (std::vector<double>{50, 269, 286}));
  const auto none = ranker_of("sum:gpu-best-fit=0:gpu-packing=0", context_of(fleet))->choose(fleet, id);
  ASSERT_TRUE(none);
  EXPECT_EQ(none->row, 0U);  // weights of 0: the node visited first
}

struct OrderCase {
  OfflineOrder order;
  std::vector<ClassId> sorted;
};
TEST(OfflineOrders, AgreeWithOrdersComputedByHand) {  // R-STRAT-707
  // Two nodes of 10 and 20. Requests: 0: (8, 1), 1: (3, 12), 2: (5, 5), 3: (8, 1) again. Demand (24, 19) of (20, 40):
  // weights 1.2 and .475. sum: 10.1, 9.3, 8.4, 10.1; product: 8, 36, 25, 8; max: .8, .6, .5, .8.
  Fleet fleet = fleet_of(std::vector<testing::NodeCase>(2, {10, 20}));
  std::vector<ClassId> tasks;
  for (const auto& [cpu, memory] : {std::pair{8, 1}, {3, 12}, {5, 5}, {8, 1}})
    tasks.push_back(fleet.add_class(task_of(cpu, 0, 0, memory)));
  for (const OrderCase& c :
       {OrderCase{OfflineOrder::arrival, {0, 1, 2, 3}}, OrderCase{OfflineOrder::sum, {0, 3, 1, 2}},
        OrderCase{OfflineOrder::product, {1, 2, 0, 3}}, OrderCase{OfflineOrder::max, {0, 3, 1, 2}}}) {
    const std::vector<double> size = packing_sizes(fleet, c.order, tasks);
    std::vector<ClassId> sorted = tasks;
    std::stable_sort(sorted.begin(), sorted.end(), [&](ClassId a, ClassId b) { return size[a] > size[b]; });
    EXPECT_EQ(sorted, c.sorted) << static_cast<int>(c.order);
  }
}

}  // namespace
}  // namespace berth::strategy
