// RowLog: a reader gets exactly the requested entries, or an error if they are no longer there.
#include "tables/row_log.h"

#include <gtest/gtest.h>

namespace berth::tables {
namespace {

TEST(RowLog, KeepsTheLastEntries) {
  RowLog log(8, 0);
  std::vector<base::NodeRow> out;
  EXPECT_TRUE(log.read(0, 0, out));
  for (std::uint32_t i = 0; i < 8; ++i) log.append(base::NodeRow(10 + i));
  EXPECT_EQ(log.end(), 8U);
  ASSERT_TRUE(log.read(3, 6, out));
  EXPECT_EQ(out, (std::vector<base::NodeRow>{13, 14, 15}));
  log.append(18);  // overwrites the slot of 10
  out.clear();
  EXPECT_FALSE(log.read(0, 4, out));
  out.clear();
  // A reader must assume that the entry after the last is being written.
  EXPECT_FALSE(log.read(1, 9, out));
  out.clear();
  ASSERT_TRUE(log.read(2, 9, out));
  EXPECT_EQ(out, (std::vector<base::NodeRow>{12, 13, 14, 15, 16, 17, 18}));
  out.clear();
  EXPECT_FALSE(log.read(5, 4, out));  // a reader that is ahead: its position is of another table
}

TEST(RowLog, ALargerLogContinuesASmallerOne) {
  RowLog log(8, 100);
  log.append(1);
  std::vector<base::NodeRow> out;
  EXPECT_FALSE(log.read(99, 101, out));
  EXPECT_TRUE(log.read(100, 101, out));
  EXPECT_EQ(log.end(), 101U);
}

}  // namespace
}  // namespace berth::tables
