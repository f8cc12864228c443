// Counts of cache lines that a change wrote.
#include "tables/written_lines.h"

#include <gtest/gtest.h>

#include "support/cluster_objects.h"
#include "tables/commit.h"

namespace berth::tables {
namespace {

/// A store with one node and one job of two groups.
class WrittenLinesTest : public ::testing::Test {
 protected:
  WrittenLinesTest() {
    Commit commit = store_.begin_commit(1);
    commit.upsert_node(testing::make_node());
    version_ = commit.upsert_job(testing::make_job({.id = "job", .type = "batch", .datacenter = "*"}), true);
  }
  void place(std::uint64_t number) {
    const ResourceShape shape;
    PlainAlloc alloc;
    alloc.id = {2, number};
    alloc.node = NodeRow{0};
    alloc.job = version_;
    store_.begin_commit(store_.index() + 1).insert_plain(alloc, std::make_shared<const ResourceShape>(shape));
  }

  StateStore store_;
  VersionRow version_ = kNoRow;
};

TEST_F(WrittenLinesTest, AreNoneWithoutAChange) {
  const SnapshotRef before = store_.snapshot();
  EXPECT_EQ(written_lines(*before, store_.current()).all().lines, 0U);
  EXPECT_EQ(written_lines(*before, store_.current()).all().bytes, 0U);
}

TEST_F(WrittenLinesTest, IncludeAppendedAndChangedRows) {
  place(1);
  const SnapshotRef before = store_.snapshot();
  place(2);
  const WrittenTables first = written_lines(*before, store_.current());
  place(3), place(4);
  const WrittenTables three = written_lines(*before, store_.current());
  EXPECT_GT(first.nodes.lines, 0U);  // the node's use
  EXPECT_EQ(first.evals.lines, 0U);
  EXPECT_EQ(first.deployments.lines, 0U);
  // Three rows have about three times the bytes of one, in few more lines: rows of a column are next to each other.
  EXPECT_GE(first.allocs.bytes, sizeof(base::Uuid) + sizeof(NodeRow) + sizeof(VersionRow));
  EXPECT_GT(three.allocs.bytes, 2 * first.allocs.bytes);
  EXPECT_LE(three.allocs.bytes, 3 * first.allocs.bytes + 64);
  EXPECT_LT(three.allocs.lines, 3 * first.allocs.lines);
  // The same row of the node was written three times: the same lines of its columns, and three entries of the log.
  EXPECT_EQ(three.nodes.lines, first.nodes.lines);
  WrittenTables sum = first;
  sum += three;
  EXPECT_EQ(sum.all().lines, first.all().lines + three.all().lines);
}

TEST_F(WrittenLinesTest, CountOneLinePerSixtyFourBytesThatDiffer) {
  const SnapshotRef before = store_.snapshot();
  store_.set_node_state(NodeRow{0}, NodeStatus::down, true, false, store_.index() + 1);
  const WrittenTables written = written_lines(*before, store_.current());
  // The byte with its state, and an entry in the log of nodes that may have left the ready ones.
  EXPECT_EQ(written.nodes.lines, 2U);
  EXPECT_EQ(written.nodes.bytes, 1 + sizeof(NodeRow));
  EXPECT_EQ(written.all().lines, written.nodes.lines);
}

}  // namespace
}  // namespace berth::tables
