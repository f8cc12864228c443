// Tables of requests: what they keep, what a change makes them forget, and which of them goes.
#include "sched/source/ask_table.h"

#include <gtest/gtest.h>

#include "model/cluster.h"
#include "sched/scratch.h"
#include "support/cluster_objects.h"
#include "support/sanitized.h"
#include "tables/commit.h"

namespace berth::sched {
namespace {

using rank::Known;

/// A store with so many nodes, and a table of nodes that all fail their checks.
struct Filled {
  tables::StateStore store;
  NodeFeed feed;
  tables::CompiledGroup group;
  AskTable table;

  explicit Filled(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) upsert(i);
    group.cpu_mhz = 500;
    feed.gather(nodes());
    table.fill(nodes(), Known::kFails);
    table.lists_open = true;
  }
  void upsert(std::size_t number) {
    store.begin_commit(store.index() + 1)
        .upsert_node(
            testing::make_node({.id = base::to_text(base::Uuid{1, number + 1}), .name = "n" + std::to_string(number)}));
  }
  [[nodiscard]] const tables::NodeTable& nodes() const { return store.current().nodes; }
  [[nodiscard]] bool follows(std::size_t most = 64) { return table.follow(feed, nodes(), group, false, most); }
};

TEST(AskTable, LeavesNodesOpenIfTheyHaveTooManyKinds) {
  Filled of(AskTable::kKinds + 5);
  for (tables::NodeRow row = 0; row < of.nodes().size(); ++row) of.table.enter(row, 10 + row, kDimensionCpu, false);
  EXPECT_EQ(of.table.counts.size(), AskTable::kKinds);
  EXPECT_EQ(of.table.open.size(), 5U);
  for (tables::NodeRow row = 0; row < of.nodes().size(); ++row)
    EXPECT_EQ(Known::is_short(of.table.of_row[row]), row < AskTable::kKinds);
  of.table.enter(7, 99, kDimensionMemory, false);  // as it was
  EXPECT_EQ(of.table.why(of.table.of_row[7]).node_class, 17U);
}

TEST(AskTable, InvalidatesWhatAChangeMayAffect) {
  Filled of(4);
  of.table.enter(1, 0, kReasonHostVolumes, true);
  of.table.enter(2, 0, kDimensionCpu, false);
  for (const tables::NodeRow row : std::vector<tables::NodeRow>{0, 1, 2})
    of.table.forget_used(row);  // a use changes no check and no volume
  EXPECT_EQ(of.table.open, std::vector<tables::NodeRow>{2});
  EXPECT_EQ(of.table.of_row[2], Known::kPasses);
  EXPECT_EQ(of.table.counts[1].count, 0);
  of.upsert(1), of.upsert(4);
  ASSERT_TRUE(of.follows());
  EXPECT_TRUE(Known::fails(of.table.of_row[0]));
  for (const tables::NodeRow row : std::vector<tables::NodeRow>{1, 4}) EXPECT_EQ(of.table.of_row[row], Known::kUnknown);
  EXPECT_EQ(of.table.counts[0].count, 0);
  EXPECT_EQ(of.table.open, (std::vector<tables::NodeRow>{2, 1, 4}));
}

TEST(AskTable, GivesUpAfterTooManyChanges) {
  Filled of(4);
  of.table.unlist();
  for (int i = 0; i < 10; ++i) of.upsert(2);
  EXPECT_FALSE(of.follows(9));
  EXPECT_TRUE(of.follows(10));
  EXPECT_EQ(of.table.of_row[2], Known::kUnknown);
}

TEST(AskTables, TheSecondLookupMakesATableAndUnusedTablesAreDropped) {
  AskTables tables;
  constexpr std::size_t kNodes = std::size_t{1} << 22;  // four tables at most
  const auto key = [](std::uint64_t number) { return AskKey{number, 0, {}, AskKey::kNoEviction}; };
  EXPECT_EQ(tables.find_or_note(key(1), kNodes), nullptr);
  EXPECT_EQ(tables.find(key(1)), nullptr);
  const AskTable* const first = tables.find_or_note(key(1), kNodes);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(tables.find(key(1)), first);
  for (std::uint64_t number = 2; number <= 4; ++number) tables.add(key(number), kNodes);
  tables.add(key(5), kNodes);  // all were used: one of them goes, and the others may go next
  std::vector<std::uint64_t> left;
  for (std::uint64_t number = 1; number <= 4; ++number) {
    if (number == 3) continue;
    if (tables.find(key(number))) left.push_back(number);
  }
  EXPECT_EQ(left.size(), 2U);
  tables.add(key(6), kNodes);
  EXPECT_EQ(tables.find(key(3)), nullptr);
  for (const std::uint64_t number : left) EXPECT_NE(tables.find(key(number)), nullptr);
}

}  // namespace
}  // namespace berth::sched
