// The columns of nodes that changed, against the log and the tables, read at every step from every point before.
#include "sched/source/changed_use.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "plan/apply.h"
#include "select_world.h"
#include "support/sanitized.h"

namespace berth::sched {
namespace {

TEST(ChangedUse, SaysWhatTheLogAndTheTablesSay) {  // R-RANK-532, 533
  std::size_t kept = 0, gone = 0, registered = 0;
  for (std::uint64_t seed = 1; seed <= testing::rounds(40, 10); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    World world(random, static_cast<std::uint32_t>(pick(random, 300, 900)), 5);
    Scratch scratch;
    GenericScheduler scheduler(scratch);
    ChangedUse changed_use;
    std::vector<std::uint64_t> from;
    for (int round = 0; round < 40; ++round) {
      const std::size_t allocs = world.store.current().allocs.size();
      if (allocs > 0 && pick(random, 0, 2) != 0) {
        for (std::int64_t i = pick(random, 1, 40); i > 0; --i)
          world.store.set_client_status(tables::AllocRow(random() % allocs), tables::Client::complete,
                                        world.store.index() + 1);
      } else {
        world.ask(random, random_job(random, "job" + std::to_string(round), true, pick(random, 1, 60)));
        const tables::Snapshot snapshot = world.store.snapshot();
        EvalResult result;
        IdStream ids(seed);
        scheduler.process(snapshot, world.facts, rank::OrderProvider::nomad, ids, result);
        plan::ApplyResult applied;
        plan::apply(world.store, result.plan, snapshot.index + 4, false, applied);
      }
      if (pick(random, 0, 9) == 0) {  // another capacity
        const auto number = static_cast<std::uint32_t>(random() % world.store.current().nodes.size());
        world.store.begin_commit(world.store.index() + 1).upsert_node(random_node(random, number, 5, false));
        ++registered;
      }
      const tables::NodeTable& nodes = world.store.current().nodes;
      from.push_back(nodes.use_changes);
      for (const std::uint64_t start : from) {
        ChangedUse::Changes changes;
        if (!changed_use.since(nodes, start, changes)) {
          ++gone;
          continue;
        }
        kept += changes.rows.size();
        std::vector<tables::NodeRow> logged;
        ASSERT_TRUE(nodes.fixed->use_log->read(start, nodes.use_changes, logged));
        std::set<tables::NodeRow> once;
        bool all_figured = true;
        for (std::size_t i = 0; i < changes.rows.size(); ++i) {
          const tables::NodeRow row = changes.rows[i];
          if (row == tables::kNoRow) continue;
          ASSERT_TRUE(once.insert(row).second) << "node " << row << " is there twice";
          const tables::NodeCapacity& capacity = nodes.capacity(row);
          const tables::NodeUse& use = nodes.use[row];
          ASSERT_EQ(changes.left[i].cpu_mhz, capacity.cpu_mhz - use.cpu_mhz);
          ASSERT_EQ(changes.left[i].memory_mb, capacity.memory_mb - use.memory_mb);
          ASSERT_EQ(changes.left[i].disk_mb, capacity.disk_mb - use.disk_mb);
          ASSERT_GE(changes.most_cpu_mhz, changes.left[i].cpu_mhz);
          ASSERT_LE(changes.least_cpu_mhz, changes.left[i].cpu_mhz);
          ASSERT_GE(changes.most_memory_mb, changes.left[i].memory_mb);
          all_figured &= changes.figured[i] != 0;
          if (changes.figured[i] != 0) {
            ASSERT_EQ(use.port_allocs + use.core_allocs + capacity.network_invalid, 0U);
          }
        }
        ASSERT_LE(changes.all_figured, all_figured);
        ASSERT_EQ(once, std::set<tables::NodeRow>(logged.begin(), logged.end()));
      }
    }
  }
  EXPECT_GT(kept, testing::rounds(1000));
  EXPECT_GT(gone, 0U);
  EXPECT_GT(registered, 0U);
}

}  // namespace
}  // namespace berth::sched
