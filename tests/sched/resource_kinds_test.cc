// The table of resource kinds: a copy of it decides the same, and one more line adds a kind to every fit. The made-up
// kind is in licences.h and nowhere else, which tests/house checks.
#include <gtest/gtest.h>

#include "model/job.h"
#include "plan/apply.h"
#include "sched/licences.h"
#include "sched/node/resource_table.h"
#include "sched/select_world.h"

namespace berth::sched {
namespace {

std::vector<ResourceKind> with_licences() {
  std::vector<ResourceKind> out(kResourceKinds.begin(), kResourceKinds.end());
  out.push_back(kLicences);
  return out;
}

/// Licences that allocations on the node hold.
std::int64_t held_on(const tables::Snapshot& state, tables::NodeRow row) {
  std::int64_t out = 0;
  for (tables::AllocRow a = state.nodes.use[row].alloc_head; a != tables::kNoRow; a = state.allocs.next_on_node[a])
    if (!state.allocs.terminal(a)) out += licences_held(state, a);
  return out;
}

/// All nodes of a world of four racks pass its checks.
std::shared_ptr<const model::Job> job_without_checks(Random& random, int round) {
  auto out = std::make_shared<model::Job>(
      *random_job(random, "job" + std::to_string(round), round % 3 == 0, pick(random, 1, 30), 20 + round));
  out->constraints.clear();
  return out;
}

class ResourceKinds : public ::testing::TestWithParam<bool> {};

TEST_P(ResourceKinds, ANewKindNeedsOneLineInTheTable) {
  const std::vector<ResourceKind> same(kResourceKinds.begin(), kResourceKinds.end()), more = with_licences();
  Random random(17);
  World world(random, 60, 4, GetParam(), true);
  OtherWay usual(model::Quirks{}), copied(model::Quirks{}), added(model::Quirks{});
  copied.scratch.resources = same;
  added.scratch.resources = more;
  std::size_t placed = 0, elsewhere = 0, failed = 0;
  for (int round = 0; round < 24; ++round) {
    world.ask(random, job_without_checks(random, round));
    const tables::Snapshot snapshot = world.store.snapshot();
    EvalResult a, b, c;
    world.decide(usual.scheduler, snapshot, 1, a);
    world.decide(copied.scheduler, snapshot, 1, b);
    world.decide(added.scheduler, snapshot, 1, c);
    ASSERT_EQ(decisions({snapshot, usual.scratch}, a, world.eval),
              decisions({snapshot, copied.scratch}, b, world.eval));
    for (std::size_t i = 0; i < c.plan.allocs.size(); ++i)
      elsewhere += i < a.plan.allocs.size() && a.plan.allocs[i].node != c.plan.allocs[i].node;
    placed += c.plan.allocs.size();
    plan::ApplyResult applied;
    plan::apply(world.store, c.plan, snapshot.index + 4, false, applied);
    const tables::Snapshot after = world.store.snapshot();
    std::int32_t short_of_licences = 0;
    const tables::CompiledGroup& group = after.jobs.versions[after.jobs.keys[world.facts.job].current]->groups.front();
    for (tables::NodeRow row = 0; row < after.nodes.size(); ++row) {
      ASSERT_LE(held_on(after, row), licences_on(row)) << "node " << row << " in round " << round;
      short_of_licences += held_on(after, row) + licences_for(group) > licences_on(row);
    }
    if (!c.groups.front().failed) continue;
    // A failed placement visited every node, and licences are examined before amounts.
    std::int32_t counted = 0;
    for (const Count& count : c.groups.front().failure.dimensions)
      if (added.scratch.reasons.text(count.what) == "licences") counted = count.count;
    ASSERT_EQ(counted, short_of_licences) << "in round " << round;
    failed += counted > 0;
  }
  EXPECT_GT(placed, 60U);
  EXPECT_GT(elsewhere, 20U) << "the kind decides nothing";
  EXPECT_GT(failed, 5U);
  const SourceCounts& counts = added.scratch.source_counts;
  const auto general = static_cast<std::size_t>(SourceKind::general);
  for (std::size_t source = 0; source < kSourceNames.size(); ++source)
    EXPECT_EQ(counts.selects[source] != 0, source == general) << kSourceNames[source];
  EXPECT_EQ(counts.unmet[kLicenceNeed], counts.selects[general]);
}

INSTANTIATE_TEST_SUITE_P(WithAndWithoutEviction, ResourceKinds, ::testing::Bool());

}  // namespace
}  // namespace berth::sched
