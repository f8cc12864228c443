// What assertions do when they fail. CI's release build runs these too: there BERTH_ASSERT stays.
#include "base/assert.h"

#include <gtest/gtest.h>

#include <csignal>

namespace berth::base {
namespace {

TEST(AssertDeathTest, EndsEveryBuildWithOneLineThatNamesExpressionFileAndLine) {
  const int room = 3;
  EXPECT_EXIT(BERTH_ASSERT(room > 3), ::testing::KilledBySignal(SIGABRT),
              "^[^\n]*assert_test\\.cc:[0-9]+: berth is wrong: room > 3 does not hold\n$");
  BERTH_ASSERT(room == 3);
}

TEST(AssertDeathTest, DebugAssertsEndOnlyBuildsWithoutNdebug) {
  int evaluated = 0;
#ifdef NDEBUG
  BERTH_DEBUG_ASSERT(++evaluated == 0);
  EXPECT_EQ(evaluated, 0);
#else
  EXPECT_EXIT(BERTH_DEBUG_ASSERT(++evaluated == 0), ::testing::KilledBySignal(SIGABRT),
              "\\+\\+evaluated == 0 does not hold");
#endif
}

}  // namespace
}  // namespace berth::base
