// Tests that fail on purpose, so that failing_test.sh can check the output of main.cc.
#include <gtest/gtest.h>

namespace {

// R-MODEL-1
TEST(RuleListener, PrintsTheRuleAboveTheTest) { FAIL(); }

TEST(RuleListener, PrintsTheNearestRule) {  // R-MODEL-2
  EXPECT_TRUE(true);                        // R-MODEL-3 to 5
  FAIL();
}

TEST(RuleListener, PrintsTheRulesOfATrace) {
  SCOPED_TRACE("R-FEAS-502 and 503");
  FAIL();
}

TEST(RuleListener, PrintsNothingWithoutARule) { FAIL(); }

TEST(RuleListener, IsSilentAboutATestThatPasses) { SUCCEED(); }  // R-MODEL-6

}  // namespace
