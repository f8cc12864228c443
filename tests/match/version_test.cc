#include "match/version.h"

#include <gtest/gtest.h>

namespace berth::match {
namespace {

using Rules = VersionConstraints::Rules;

char verdict(std::string_view left, std::string_view list, Rules rules) {
  const auto parsed = VersionConstraints::parse(list, rules);
  if (!parsed) return '-';
  return parsed->satisfied_by(left) ? 'T' : 'F';
}

struct VersionCase {
  const char *left, *list;
  char version, semver;  // T, F, or - for a malformed list
};

TEST(VersionConstraints, FollowTheWorkedExample) {  // E9
  for (const VersionCase& c : {
           VersionCase{"1.3.0-beta1", ">= 0.6.1", 'F', 'T'},
           {"1.3.0-beta1", "!= 0.6.1", 'T', 'T'},
           {"1.7.0-alpha1", ">= 1.6.0-beta1", 'F', 'T'},
           {"2.0", "~> 1", 'T', '-'},
           {"1.9.9", "~> 1.2.3", 'F', '-'},
           {"1.2.9", "~> 1.2.3.4", 'F', '-'},
           {"2.0.0-rc1", "~> 2.0.0-beta", 'T', '-'},
           {"2.0.0", "~> 2.0.0-beta", 'F', '-'},
           {"1.7rc2", "> 1.7rc1", 'T', '-'},
           {"1.2.3.0-beta", "= 1.2.3", 'T', 'T'},
           {"5.4-alpha", "> 5.4-alpha.beta", 'T', 'T'},
           {"5.4-alpha", "< 5.4-alpha.1", 'T', 'T'},
           {"1.2", ">= 1,", '-', '-'},
           {"01.02", "= 1.2", 'T', 'T'},
           {" 1.2", ">= 0", 'F', 'F'},
           {"1.2", "", '-', '-'},
       }) {
    EXPECT_EQ(verdict(c.left, c.list, Rules::version), c.version) << c.left << " version " << c.list;
    EXPECT_EQ(verdict(c.left, c.list, Rules::semver), c.semver) << c.left << " semver " << c.list;
  }
}

TEST(ParseVersion, SplitsThePrereleaseOff) {  // R-FEAS-623
  EXPECT_EQ(parse_version("1.2-beta")->prerelease, "beta");
  EXPECT_EQ(parse_version("1.2beta")->prerelease, "beta");
  EXPECT_EQ(parse_version("1.0-")->prerelease, "-");
  EXPECT_EQ(parse_version("1.2~rc1")->prerelease, "~rc1");
  EXPECT_EQ(parse_version("1.2-5")->prerelease, "5");
  EXPECT_EQ(parse_version("v1.2-a.b+m.n")->prerelease, "a.b");
  EXPECT_EQ(parse_version("1.2")->segments, (std::vector<std::int64_t>{1, 2, 0}));
  EXPECT_EQ(parse_version("1.2")->written, 2u);
  for (const char* malformed : {"", "v", "1.", "1..2", "1.2-a.", "1.2+", "1.2 ", "V1", "9223372036854775808", "1.2_3"})
    EXPECT_FALSE(parse_version(malformed)) << malformed;
  for (const char* malformed : {"1.7rc1", "1.2~x", "1.0-"})
    EXPECT_FALSE(parse_version(malformed, VersionGrammar::strict)) << malformed;
}

int order(std::string_view a, std::string_view b) { return compare(*parse_version(a), *parse_version(b)); }

TEST(CompareVersions, KeepsTheQuirksOfPrereleases) {  // R-FEAS-625 to 627
  EXPECT_EQ(order("1.0-01", "1.0-1"), -1);            // smaller in both directions
  EXPECT_EQ(order("1.0-1", "1.0-01"), -1);
  EXPECT_EQ(order("1.0-99999999999999999999", "1.0-a"), 1);  // left: greater than any text
  EXPECT_EQ(order("1.0-a", "1.0-99999999999999999999"), 1);  // right: plain bytes
  EXPECT_EQ(order("1.0-a", "1.0-a.b"), 1);
  EXPECT_EQ(order("1.0-a", "1.0-a.1"), -1);
  EXPECT_EQ(order("1.0-2", "1.0-beta"), -1);
  EXPECT_EQ(order("1.0", "1.0-beta"), 1);
  EXPECT_EQ(order("1.0.0.0-beta", "1.0"), 0);  // other number of segments: prereleases are ignored
  EXPECT_EQ(order("1.0.0.1", "1.0"), 1);
  EXPECT_EQ(order("1.0+a", "1.0+b"), 0);
}

}  // namespace
}  // namespace berth::match
