#include "feasible/distinct.h"
#include "model/job.h"

#include <gtest/gtest.h>

namespace berth::feasible {
namespace {

struct CountCase {
  int existing, cleared, proposed;
  const char* allowed;
  std::uint64_t used;
  bool passes;
};

TEST(PropertySet, NetsClearedCountsLikeTheWorkedExample) {  // E11, R-FEAS-1407 to 1409
  for (const CountCase& c : {CountCase{1, 1, 0, "1", 0, true},
                             {1, 1, 1, "1", 1, false},
                             {2, 2, 1, "2", 2, false},
                             {1, 0, 1, "2", 2, false},
                             {3, 3, 2, "3", 3, false},
                             {0, 2, 0, "", 0, true},
                             {0, 0, 0, "0", 0, false},
                             {5, 0, 0, "18446744073709551615", 5, true}}) {
    PropertySet set({"${meta.rack}", c.allowed, "distinct_property"}, PropertySet::kWholeJob);
    for (int i = 0; i < c.existing; ++i) set.add_existing(3);
    for (int select = 0; select < 2; ++select) {  // the second one starts from the existing counts again
      set.begin_plan();
      for (int i = 0; i < c.cleared; ++i) set.add_cleared(3);
      for (int i = 0; i < c.proposed; ++i) set.add_proposed(3);
      set.end_plan();
      EXPECT_EQ(set.used(3), c.used);
      EXPECT_EQ(set.passes(3), c.passes);
    }
    EXPECT_EQ(set.used(2), 0u);
    EXPECT_EQ(set.used(1000), 0u);
  }
}

TEST(PropertySet, WithoutMembersHasNoValue) {  // a gang on no value
  const PropertySet none("${meta.rack}", 0, {});
  EXPECT_FALSE(none.passes(0));
  EXPECT_FALSE(none.passes(7));
  EXPECT_EQ(none.reason(7, "r7"), "gang: ${meta.rack}=r7 is not among its values");
  const PropertySet two("${meta.rack}", 0, std::vector<std::uint32_t>{2, 5});
  for (std::uint32_t code = 0; code < 8; ++code) EXPECT_EQ(two.passes(code), code == 2 || code == 5) << code;
}

TEST(PropertySet, CountsEachStopInFullWithoutTheQuirk) {  // R-FEAS-1407: two exist, both stop, one is new
  for (const bool skewed : {true, false}) {
    PropertySet set({"${meta.rack}", "2", "distinct_property"}, PropertySet::kWholeJob);
    for (int i = 0; i < 2; ++i) set.add_existing(3);
    set.begin_plan();
    for (int i = 0; i < 2; ++i) set.add_cleared(3);
    set.add_proposed(3);
    model::Quirks quirks;
    quirks.property_counts_skewed = skewed;
    set.end_plan(quirks);
    EXPECT_EQ(set.used(3), skewed ? 2u : 1u);
    EXPECT_EQ(set.passes(3), !skewed);
  }
}

TEST(PropertySet, ExplainsWhyANodeFails) {  // E11, R-FEAS-1402, 1410
  PropertySet set({"${meta.rack}", "", "distinct_property"}, PropertySet::kWholeJob);
  set.add_existing(0);
  EXPECT_FALSE(set.passes(0));
  EXPECT_EQ(set.reason(0, "1"), "distinct_property: ${meta.rack}=1 used by 1 allocs");
  EXPECT_FALSE(set.passes(PropertySet::kNoValue));
  EXPECT_EQ(set.reason(PropertySet::kNoValue, ""), "missing property \"${meta.rack}\"");
  const PropertySet empty({"", "", "distinct_property"}, PropertySet::kWholeJob);
  EXPECT_FALSE(empty.passes(0));
  EXPECT_EQ(empty.reason(0, ""), "missing property \"\"");
}

TEST(PropertySet, FailsEveryNodeIfTheLimitIsNotANumber) {  // R-FEAS-1402
  const std::pair<const char*, const char*> cases[] = {{"two", "invalid syntax"},
                                                       {"-1", "invalid syntax"},
                                                       {"1_0", "invalid syntax"},
                                                       {"18446744073709551616", "value out of range"},
                                                       {"99999999999999999999x", "value out of range"},
                                                       {"1x99999999999999999999", "invalid syntax"}};
  for (const auto& [text, problem] : cases) {
    const PropertySet set({"${meta.rack}", text, "distinct_property"}, PropertySet::kWholeJob);
    EXPECT_FALSE(set.passes(0)) << text;
    EXPECT_EQ(set.reason(0, "1"), "failed to convert RTarget \"" + std::string(text) +
                                      "\" to uint64: strconv.ParseUint: parsing \"" + text + "\": " + problem);
  }
}

TEST(PropertySets, KeepJobSetsAndBuildGroupSetsOnce) {  // R-FEAS-1403, 1404, 1411
  const std::vector<model::Constraint> rack = {{"${meta.rack}", "", "distinct_property"}, {"a", "b", "="}};
  const std::vector<model::Constraint> zone = {{"${meta.zone}", "", "distinct_property"}};
  PropertySets sets;
  sets.begin_attempt(2);
  EXPECT_TRUE(sets.empty());
  EXPECT_EQ(sets.add_job(rack).size(), 1u);
  EXPECT_EQ(sets.add_job(zone).size(), 1u);
  EXPECT_EQ(sets.add_group(1, {}).size(), 0u);  // leaves nothing behind
  EXPECT_EQ(sets.add_group(1, zone).size(), 1u);
  EXPECT_EQ(sets.add_group(1, rack).size(), 0u);  // already built
  int count = 0;
  sets.for_each([&](PropertySet& set) {
    ++count;
    if (set.group() == 1) set.add_existing(0);
  });
  EXPECT_EQ(count, 3);
  const auto code_zero = [](const PropertySet&) { return 0u; };
  EXPECT_EQ(sets.first_failing(0, code_zero), nullptr);
  ASSERT_NE(sets.first_failing(1, code_zero), nullptr);
  EXPECT_EQ(sets.first_failing(1, code_zero)->group(), 1u);
}

TEST(DistinctHosts, IsDecidedByTheFirstConstraint) {  // R-FEAS-1311, 1313
  using List = std::vector<model::Constraint>;
  EXPECT_FALSE(match::has_distinct_hosts(List{}));
  EXPECT_TRUE(match::has_distinct_hosts(List{{"", "", "distinct_hosts"}}));
  EXPECT_TRUE(match::has_distinct_hosts(List{{"", "maybe", "distinct_hosts"}}));
  EXPECT_FALSE(
      match::has_distinct_hosts(List{{"a", "b", "="}, {"", "F", "distinct_hosts"}, {"", "", "distinct_hosts"}}));
  EXPECT_TRUE((DistinctHosts{true, false}.filters(1, 0)));
  EXPECT_FALSE((DistinctHosts{false, true}.filters(1, 0)));
  EXPECT_TRUE((DistinctHosts{false, true}.filters(1, 1)));
  EXPECT_FALSE((DistinctHosts{false, false}.filters(1, 1)));
}

}  // namespace
}  // namespace berth::feasible
