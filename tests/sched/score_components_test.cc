// The table of score components: a copy of it decides the same, and one more line adds a component to every score.
#include "sched/node/component_table.h"

#include <gtest/gtest.h>

#include "plan/apply.h"
#include "sched/select_world.h"

namespace berth::sched {
namespace {

constexpr std::uint32_t kBonusNeed = 62;
constexpr auto kBonus = static_cast<rank::Component>(kScoreComponents.size());

/// 0, 0.25 and 0.5 on three of four nodes; not appended on the fourth.
std::optional<double> bonus_of_row(tables::NodeRow row) {
  if (row % 4 == 3) return std::nullopt;
  return 0.25 * (row % 4);
}
std::optional<double> bonus_of(const ScoredOption& of) { return bonus_of_row(of.row); }

std::vector<ScoreComponent> with_bonus() {
  std::vector<ScoreComponent> out(kScoreComponents.begin(), kScoreComponents.end());
  out.push_back({kBonus, "bonus", false, false, ScoreComponent::Changes::with_node, bonus_of, nullptr,
                 Needs::of_bit(kBonusNeed)});
  return out;
}

TEST(ScoreComponents, ANewComponentNeedsOneLineInTheTable) {
  const std::vector<ScoreComponent> same(kScoreComponents.begin(), kScoreComponents.end()), more = with_bonus();
  Random random(11);
  World world(random, 60, 5, false, true);
  OtherWay usual(model::Quirks{}), copied(model::Quirks{}), added(model::Quirks{});
  copied.scratch.components = same;
  added.scratch.components = more;
  std::size_t placed = 0, scored = 0, elsewhere = 0;
  for (int round = 0; round < 12; ++round) {
    world.ask(random,
              random_job(random, "job" + std::to_string(round), round % 2 == 0, pick(random, 1, 30), 20 + round));
    const tables::Snapshot snapshot = world.store.snapshot();
    EvalResult a, b, c;
    world.decide(usual.scheduler, snapshot, 1, a);
    world.decide(copied.scheduler, snapshot, 1, b);
    world.decide(added.scheduler, snapshot, 1, c);
    ASSERT_EQ(decisions({snapshot, usual.scratch}, a, world.eval),
              decisions({snapshot, copied.scratch}, b, world.eval));
    for (std::size_t i = 0; i < c.plan.allocs.size(); ++i) {
      ++placed;
      elsewhere += i < a.plan.allocs.size() && a.plan.allocs[i].node != c.plan.allocs[i].node;
      const SelectMetrics& metrics = c.plan.allocs[i].metrics;
      for (const ScoredNode& node : metrics.top) {
        ++scored;
        const auto bit = static_cast<std::size_t>(kBonus);
        const std::optional<double> bonus = bonus_of_row(node.node);
        ASSERT_EQ(node.logged >> bit & 1, bonus ? 1 : 0);
        ASSERT_EQ(metrics.value(node, bit), bonus.value_or(0));
        // Components that are logged as 0 may be appended or not: the mean over any possible number of components.
        double sum = 0;
        int appended = 0, zeros = 0;
        for (std::size_t place = 0; place <= bit; ++place) {
          if ((node.logged >> place & 1) == 0) continue;
          sum += metrics.value(node, place);
          ++(metrics.value(node, place) == 0 && place != bit ? zeros : appended);
        }
        bool is_mean = false;
        for (int more_zeros = 0; more_zeros <= zeros; ++more_zeros)
          if (appended + more_zeros > 0) is_mean = is_mean || node.norm == sum / (appended + more_zeros);
        ASSERT_TRUE(is_mean) << node.norm << " for a sum of " << sum;
      }
    }
    plan::ApplyResult applied;
    plan::apply(world.store, a.plan, snapshot.index + 4, false, applied);
  }
  EXPECT_GT(placed, 100U);
  EXPECT_GT(scored, 200U);
  EXPECT_GT(elsewhere, 20U) << "the component decides nothing";
  const SourceCounts& counts = added.scratch.source_counts;
  const auto general = static_cast<std::size_t>(SourceKind::general);
  for (std::size_t source = 0; source < kSourceNames.size(); ++source)
    EXPECT_EQ(counts.selects[source] != 0, source == general) << kSourceNames[source];
  EXPECT_EQ(counts.unmet[kBonusNeed], counts.selects[general]);
  EXPECT_GT(copied.scratch.source_counts.selects[static_cast<std::size_t>(SourceKind::columns)], 50U);
}

}  // namespace
}  // namespace berth::sched
