// The feed of changed nodes compared with the log and with the free resources of nodes, read at every step from every
// earlier one.
#include "sched/source/node_feed.h"

#include <gtest/gtest.h>

#include <set>

#include "plan/apply.h"
#include "select_world.h"
#include "support/sanitized.h"

namespace berth::sched {
namespace {

/// Free amounts of a node, or that its columns do not give them.
struct Left {
  bool tells;
  std::int64_t cpu_mhz, memory_mb, disk_mb;
};

std::vector<Left> left_of(const tables::NodeTable& nodes) {
  std::vector<Left> out;
  for (std::size_t row = 0; row < nodes.size(); ++row) {
    const tables::NodeCapacity& capacity = nodes.capacity(tables::NodeRow(row));
    const tables::NodeUse& use = nodes.use[row];
    const bool full = capacity.max_allocs != 0 && capacity.max_allocs <= static_cast<std::int64_t>(use.alloc_count);
    out.push_back({!full && use.port_allocs + use.core_allocs + capacity.network_invalid == 0,
                   capacity.cpu_mhz - use.cpu_mhz, capacity.memory_mb - use.memory_mb, capacity.disk_mb - use.disk_mb});
  }
  return out;
}

/// The first insufficient amount (R-RANK-533); 3: none.
int first_short(const Left& left, const rank::AskedAmounts& ask) {
  return left.cpu_mhz < ask.cpu_mhz ? 0 : left.memory_mb < ask.memory_mb ? 1 : left.disk_mb < ask.disk_mb ? 2 : 3;
}

TEST(NodeFeed, AgreesWithTheLogAndTheTables) {  // R-RANK-532, 533
  std::size_t kept = 0, seen = 0, gone = 0, registered = 0;
  for (std::uint64_t seed = 1; seed <= testing::rounds(40, 10); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    World world(random, static_cast<std::uint32_t>(pick(random, 300, 900)), 5);
    Scratch scratch;
    GenericScheduler scheduler(scratch);
    NodeFeed feed;
    struct Point {
      NodePlace place;
      std::uint64_t epoch, ready_changes;
      bool gathered;
      std::vector<Left> left;
    };
    std::vector<Point> from;
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
      const bool gathers = pick(random, 0, 2) != 0;
      if (gathers) feed.gather(nodes);
      NodePlace place;
      place.move_to(nodes);
      from.push_back({place, nodes.epoch, nodes.ready_changes, gathers, left_of(nodes)});
      if (!gathers) continue;
      const auto cpu = static_cast<std::int32_t>(pick(random, 0, 4000));
      const rank::AskedAmounts ask{cpu, static_cast<std::int32_t>(pick(random, 0, 8000)),
                                   static_cast<std::int32_t>(pick(random, 0, 100000))};
      const std::vector<Left>& now = from.back().left;
      for (const Point& start : from) {
        NodeFeed::Changes changes;
        if (!feed.amounts_since(start.place, nodes, changes)) {
          ++gone;
          continue;
        }
        // Capacities or ready nodes differ; readers of the feed compare these themselves.
        if (start.epoch != nodes.epoch || start.ready_changes != nodes.ready_changes) continue;
        std::vector<tables::NodeRow> logged;
        ASSERT_TRUE(nodes.fixed->use_log->read(start.place.changes(), nodes.use_changes, logged));
        ASSERT_EQ(std::vector<tables::NodeRow>(changes.rows.begin(), changes.rows.end()), logged);
        std::vector<std::uint32_t> positions(logged.size());
        const std::size_t count = rank::crossings(changes.ranges, logged.size(), ask, positions.data());
        std::set<tables::NodeRow> crossing;
        for (std::size_t i = 0; i < count; ++i) crossing.insert(logged[positions[i]]);
        kept += logged.size() - count;
        for (std::size_t row = 0; row < start.left.size(); ++row) {
          const Left& before = start.left[row];
          if (before.tells == now[row].tells && first_short(before, ask) == first_short(now[row], ask)) continue;
          ASSERT_TRUE(crossing.contains(tables::NodeRow(row))) << "node " << row << " changed unseen";
          ++seen;
        }
      }
    }
  }
  EXPECT_GT(kept, testing::rounds(1000));
  EXPECT_GT(seen, testing::rounds(1000));
  EXPECT_GT(gone, 0U);
  EXPECT_GT(registered, 0U);
}

}  // namespace
}  // namespace berth::sched
