// Tables of text: blocks that repeat the first column, and texts that are wider than the terminal.
#include "compare/tables.h"

#include <gtest/gtest.h>

namespace berth::compare {
namespace {

TEST(TextTable, ContinuesInBlocksThatRepeatTheFirstColumn) {
  const TableRows rows{{"run", "first", "second"}, {"a", "1", "22"}, {"bb", "333", ""}};
  EXPECT_EQ(text_table(rows), "  run  first  second\n  a        1      22\n  bb     333\n");
  EXPECT_EQ(text_table(rows, 13), "  run  first\n  a        1\n  bb     333\n\n  run  second\n  a        22\n  bb\n");
}

TEST(TextTable, BreaksTheTextsOfAColumnThatIsTooWide) {
  const TableRows rows{{"run", "n", "why"}, {"a", "1", "the thread was not running"}, {"bb", "2", "–"}};
  EXPECT_EQ(text_table(rows, 20),
            "  run  n\n  a    1\n  bb   2\n\n"
            "  run  why\n  a    the thread\n       was not\n       running\n  bb   –\n");
}

TEST(TextTable, KeepsAWordThatIsTooWideWhole) {
  EXPECT_EQ(text_table({{"a", "b"}, {"1", "unbreakable words"}}, 10), "  a  b\n  1  unbreakable\n     words\n");
}

}  // namespace
}  // namespace berth::compare
