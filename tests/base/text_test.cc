#include "base/text.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/duration.h"
#include "base/json.h"
#include "base/time.h"
#include "base/uuid.h"

namespace berth::base {
namespace {

TEST(ParseDouble, FollowsGosSyntax) {  // R-FEAS-613, example E8
  EXPECT_EQ(parse_double("1_0"), 10.0);
  EXPECT_EQ(parse_double("0x10p0"), 16.0);
  EXPECT_EQ(parse_double("0x10"), std::nullopt);
  EXPECT_EQ(parse_double("1e400"), std::nullopt);
  EXPECT_EQ(parse_double("1e-400"), 0.0);
  EXPECT_EQ(parse_double(".5"), 0.5);
  EXPECT_EQ(parse_double("5."), 5.0);
  EXPECT_EQ(parse_double("-Infinity"), -INFINITY);
  EXPECT_TRUE(std::isnan(*parse_double("nan")));
  EXPECT_EQ(parse_double("+nan"), std::nullopt);
  EXPECT_EQ(parse_double(" 5"), std::nullopt);
  EXPECT_EQ(parse_double("_5"), std::nullopt);
}

TEST(ParseInt64, TakesASignAndDigitsOnly) {  // R-FEAS-612
  EXPECT_EQ(parse_int64("+5"), 5);
  EXPECT_EQ(parse_int64("-05"), -5);
  EXPECT_EQ(parse_int64("+-5"), std::nullopt);
  EXPECT_EQ(parse_int64("9223372036854775807"), INT64_MAX);
  EXPECT_EQ(parse_int64("9223372036854775808"), std::nullopt);
  EXPECT_EQ(parse_int64(""), std::nullopt);
}

TEST(GoQuote, EscapesAsGoDoes) {  // R-FEAS-1009
  EXPECT_EQ(go_quote("a\"b\\c\n"), "\"a\\\"b\\\\c\\n\"");
  EXPECT_EQ(go_quote("\x01\x7f\xff"), "\"\\x01\\x7f\\xff\"");
  EXPECT_EQ(go_quote("é"), "\"é\"");
}

TEST(GlobMatch, StarIsTheOnlyWildcard) {  // R-MODEL-287
  EXPECT_TRUE(glob_match("dc*", "dc1"));
  EXPECT_TRUE(glob_match("*a*b", "xaxb"));
  EXPECT_FALSE(glob_match("a*a", "a"));
  EXPECT_TRUE(glob_match("", ""));
  EXPECT_FALSE(glob_match("", "x"));
  EXPECT_FALSE(glob_match("d?1", "dc1"));
}

TEST(Time, RoundTripsRfc3339) {
  const auto time = parse_rfc3339("2026-11-22T00:48:00.5+01:00");
  ASSERT_TRUE(time);
  EXPECT_EQ(to_rfc3339(*time), "2026-11-21T23:48:00.5Z");
  EXPECT_TRUE(parse_rfc3339("0001-01-01T00:00:00Z")->is_zero());
  EXPECT_FALSE(parse_rfc3339("2026-13-01T00:00:00Z"));
  EXPECT_EQ(duration_text(90 * kSecond), "1m30s");
}

TEST(Time, ReadsDurations) {
  for (const auto& [text, ns] :
       std::vector<std::pair<const char*, std::int64_t>>{{"0", 0},
                                                         {"0s", 0},
                                                         {"300ms", kSecond * 3 / 10},
                                                         {"1h30m", 5400 * kSecond},
                                                         {"1.5h", 5400 * kSecond},
                                                         {".5s", kSecond / 2},
                                                         {"1.s", kSecond},
                                                         {"-3s", -3 * kSecond},
                                                         {"+7us", 7000},
                                                         {"1.054442584s", 1'054'442'584},
                                                         {"2562047h47m16.854775807s", INT64_MAX}})
    EXPECT_EQ(parse_duration(text), ns) << text;
  for (const char* text : {"", "s", "1", "1 s", "1x", ".s", "1..5s", "-", "1s2", "2562048h", "9999999999999999999999h"})
    EXPECT_EQ(parse_duration(text), std::nullopt) << text;
  for (const std::int64_t ns : {std::int64_t{1}, std::int64_t{999'999}, kSecond + 1, 86'399 * kSecond + 123'456'789})
    EXPECT_EQ(parse_duration(duration_text(ns)), ns);
}

TEST(Time, TimesOutsideTheRangeOfNanosecondsAreReportedAsSuch) {
  EXPECT_EQ(to_rfc3339(*parse_rfc3339("2262-04-11T23:47:16.854775807Z")), "2262-04-11T23:47:16.854775807Z");
  for (const char* late : {"2262-04-11T23:47:16.854775808Z", "9999-12-31T23:59:59Z"}) {
    EXPECT_FALSE(parse_rfc3339(late));
    EXPECT_NE(std::string(rfc3339_problem(late)).find("after 2262-04-11T23:47:16Z"), std::string::npos) << late;
  }
  EXPECT_FALSE(parse_rfc3339("1492-10-12T00:00:00Z"));
  EXPECT_NE(std::string(rfc3339_problem("1492-10-12T00:00:00Z")).find("before 1677"), std::string::npos);
  EXPECT_STREQ(rfc3339_problem("tomorrow"), "is not an RFC 3339 time");
}

TEST(Uuid, OrdersAsItsText) {
  const auto a = parse_uuid("8c1f0c1e-2b5d-4b37-9c0a-0123456789ab");
  ASSERT_TRUE(a);
  EXPECT_EQ(to_text(*a), "8c1f0c1e-2b5d-4b37-9c0a-0123456789ab");
  EXPECT_FALSE(parse_uuid("8c1f0c1e-2b5d-4b37-9c0a-0123456789a"));
}

TEST(Json, WritesShortestDoubles) {  // R-MODEL-603
  EXPECT_EQ(json::double_text(18), "18.0");
  EXPECT_EQ(json::double_text(0.1), "0.1");
  EXPECT_EQ(json::double_text(1e-7), "1e-07");
}

}  // namespace
}  // namespace berth::base
