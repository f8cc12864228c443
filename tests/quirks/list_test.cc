// The list of quirks: every field has its test, and its option.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "model/options.h"

namespace berth::model {
namespace {

TEST(QuirkList, EveryFieldHasATest) {
  const ::testing::UnitTest& all = *::testing::UnitTest::GetInstance();
  std::set<std::string> suites;
  for (int i = 0; i < all.total_test_suite_count(); ++i) suites.insert(all.GetTestSuite(i)->name());
  for (const QuirkInfo& quirk : kQuirks)
    EXPECT_TRUE(suites.contains(std::string(quirk.name))) << "no QUIRK_TEST(" << quirk.name << ", ...)";
}

TEST(QuirkList, EveryFieldHasItsOwnMemberAndOption) {
  EXPECT_EQ(sizeof(Quirks), kQuirks.size());  // bools and nothing else
  for (const QuirkInfo& quirk : kQuirks) {
    const std::string name = "quirk." + std::string(quirk.name);
    Options options;
    EXPECT_TRUE(options.quirks.*quirk.member);
    ASSERT_TRUE(set_option(options, name + "=off"));
    Quirks expected;
    expected.*quirk.member = false;
    EXPECT_EQ(options.quirks, expected);
    const auto changed = changed_options(options);
    ASSERT_EQ(changed.size(), 1U);
    EXPECT_EQ(changed[0], std::pair(name, std::string("off")));
    ASSERT_TRUE(set_option(options, "compat=fixed"));
    EXPECT_EQ(options.quirks, Quirks::none());
    ASSERT_TRUE(set_option(options, name + "=on"));
    EXPECT_TRUE(options.quirks.*quirk.member);
    ASSERT_TRUE(set_option(options, "compat=nomad"));
    EXPECT_EQ(options, Options());
    EXPECT_FALSE(quirk.rules.empty() || quirk.nomad.empty() || quirk.off.empty());
  }
}

}  // namespace
}  // namespace berth::model
