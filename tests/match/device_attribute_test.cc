#include "match/device_attribute.h"

#include <gtest/gtest.h>

#include <bit>
#include <limits>

#include "match/device_match.h"

namespace berth::match {
namespace {

struct AttributeOrderCase {
  const char *left, *right;
  DeviceOrder order;
};

TEST(DeviceCompare, FollowsTheWorkedExample) {  // E10
  using enum DeviceOrder;
  for (const AttributeOrderCase& c : {
           AttributeOrderCase{"11 GiB", "11264 MiB", equal},
           {"995 MiB/s", ".98   GiB/s", less},
           {"500 mW", "0 W", equal},
           {"1500mW", "1 W", equal},  // both int: truncated to whole watts
           {"1500.0 mW", "1 W", greater},
           {"-1500 mW", "-1 W", equal},
           {"8 EiB", "1 KiB", less},  // wraps to a negative number
           {"8.0 EiB", "1 KiB", greater},
           {"10 MHz", "0.01 GHz", less},
           {"0.1 GHz", "100 MHz", greater},
           {"4 GiB", "4", incomparable},
           {"4 GiB", "4 GiB/s", incomparable},
           {"4", "4.0", equal},
           {"true", "1", incomparable},
           {"true", "false", greater},
           {"false", "true", greater},
           {"true", "T", equal},
           {"1 kB", "1 KB", equal},
           {"inf", "1e308", greater},
           {"-inf", "-9223372036854775808", less},
           {"inf", "Inf", equal},
           {"nan", "1", not_a_number},
           {"nan", "abc", incomparable},
           {"9223372036854775807", "9223372036854775807.0", less},  // exact: the double is 2^63
           {"9007199254740993", "9007199254740992.0", greater},
           {"1e-300", "0", greater},
           {"-1e-300", "0", less},
           {"1e300 EiB", "9223372036854775807 EiB", greater},  // one side double: no wrap-around
           {"abc", "abd", less},
       })
    EXPECT_EQ(compare(parse_device_literal(c.left), parse_device_literal(c.right)), c.order)
        << c.left << " against " << c.right;
}

TEST(DeviceCompare, IgnoresUnknownUnits) {  // R-FEAS-926
  model::Attribute furlongs = parse_device_literal("4");
  furlongs.unit = std::string("furlong");
  EXPECT_EQ(compare(furlongs, parse_device_literal("4")), DeviceOrder::equal);
  EXPECT_EQ(compare(furlongs, parse_device_literal("4 W")), DeviceOrder::incomparable);
}

TEST(ParseDeviceLiteral, RecognisesTheTypeOfAText) {  // R-FEAS-921 to 923
  EXPECT_EQ(parse_device_literal("1").int_value, 1);
  EXPECT_EQ(parse_device_literal("1.0").float_value, 1.0);
  EXPECT_EQ(parse_device_literal("t").bool_value, true);
  EXPECT_EQ(parse_device_literal("1.2.3").string_value, "1.2.3");
  EXPECT_EQ(parse_device_literal("1080ti").string_value, "1080ti");
  EXPECT_EQ(parse_device_literal("W").string_value, "W");
  EXPECT_EQ(parse_device_literal("10 gib").string_value, "10 gib");
  EXPECT_EQ(parse_device_literal(" 1").string_value, " 1");
  EXPECT_EQ(parse_device_literal(" 1 W").int_value, 1);
  EXPECT_EQ(parse_device_literal("3 mW").unit, "mW");
  EXPECT_EQ(parse_device_literal("").string_value, "");
}

TEST(ParseDeviceLiteral, ADoubleAtTheEdgeOfItsRangeKeepsItsUnit) {  // R-FEAS-613, 921, 922
  struct Case {
    const char* text;
    double value;
    const char* unit;
  };
  const double max = std::numeric_limits<double>::max(), least = std::numeric_limits<double>::denorm_min(),
               infinity = std::numeric_limits<double>::infinity();
  for (const Case& c : {Case{"1.7976931348623157e308 MB", max, "MB"}, Case{"-1.7976931348623157e308GW", -max, "GW"},
                        Case{"1.7976931348623158e308 W", max, "W"}, Case{"0x1.fffffffffffffp1023 MiB", max, "MiB"},
                        Case{"0x1.fffffffffffff7ffp1023 MiB", max, "MiB"}, Case{"4.9e-324 mW", least, "mW"},
                        Case{"5e-324kB/s", least, "kB/s"}, Case{"0x1p-1074 GHz", least, "GHz"},
                        Case{"1e-400 MHz", 0, "MHz"}, Case{"-1e-400 MHz", -0.0, "MHz"}, Case{"0x1p-2000 W", 0, "W"},
                        Case{"9223372036854775808 W", 0x1p63, "W"}, Case{"1e-99999999999999999999 W", 0, "W"},
                        Case{"0e99999999999999999999 W", 0, "W"}, Case{"-Infinity EB", -infinity, "EB"}}) {
    const model::Attribute parsed = parse_device_literal(c.text);
    ASSERT_TRUE(parsed.float_value) << c.text;
    EXPECT_EQ(std::bit_cast<std::uint64_t>(*parsed.float_value), std::bit_cast<std::uint64_t>(c.value)) << c.text;
    EXPECT_EQ(parsed.unit, c.unit) << c.text;
  }
  for (const char* text :
       {"1.7976931348623159e308 W", "1e309 MB", "0x1.fffffffffffff8p1023 W", "0x1p1024 W", "1e99999999999999999999 W"})
    EXPECT_EQ(parse_device_literal(text).string_value, text);
}

Result<bool, NotANumber> device_asks(const char* operand, const char* left, const char* right) {
  Patterns patterns;
  const auto l = parse_device_literal(left), r = parse_device_literal(right);
  return evaluate_device(parse_operand(operand), &l, &r, patterns);
}

TEST(DeviceOperand, FollowsTheTable) {           // R-FEAS-934, 935
  EXPECT_FALSE(*device_asks("!=", "abc", "5"));  // not comparable
  EXPECT_FALSE(*device_asks("=", "abc", "5"));
  EXPECT_TRUE(*device_asks(">=", "false", "true"));
  EXPECT_TRUE(*device_asks(">", "false", "true"));
  EXPECT_FALSE(*device_asks("version", "1.2.3", "1.0"));  // the literal is a double
  EXPECT_TRUE(*device_asks("version", "1.2.3", ">= 1.0"));
  EXPECT_TRUE(*device_asks("version", "7", "> 6.5.1"));
  EXPECT_FALSE(*device_asks("regexp", "5", "abc"));
  EXPECT_TRUE(*device_asks("set_contains_any", "a,b", "c, b"));
  EXPECT_FALSE(device_asks("<", "nan", "1").has_value());  // R-FEAS-933
  EXPECT_FALSE(device_asks("!=", "1", "nan").has_value());
  Patterns patterns;
  const auto one = parse_device_literal("1");
  EXPECT_TRUE(*evaluate_device(Operand::not_equal, &one, nullptr, patterns));
  EXPECT_FALSE(*evaluate_device(Operand::not_equal, nullptr, nullptr, patterns));
  EXPECT_TRUE(*evaluate_device(Operand::is_not_set, nullptr, &one, patterns));
}

TEST(DeviceName, SplitsIntoAtMostThreePieces) {  // R-FEAS-906, R-MODEL-521
  model::NodeDevice group;
  group.vendor = std::string("nvidia"), group.type = std::string("gpu"), group.name = std::string("a/b");
  for (const char* matching : {"gpu", "nvidia/gpu", "nvidia/gpu/a/b", "/gpu", "nvidia/", "/", "//a/b"})
    EXPECT_TRUE(matches(parse_device_name(matching), group)) << matching;
  for (const char* other : {"", "nvidia", "nvidia/gpu/a", "gpu/nvidia", "GPU"})
    EXPECT_FALSE(matches(parse_device_name(other), group)) << other;
}

TEST(DeviceTarget, ResolvesOnAGroup) {  // R-FEAS-911
  model::NodeDevice group;
  group.name = std::string("1080ti");
  group.instances = {{"i1", true, "", std::nullopt}, {"i2", false, "", std::nullopt}};
  group.attributes["memory"] = parse_device_literal("11 GiB");
  model::Attribute scratch;
  EXPECT_EQ(resolve(parse_device_target("${device.ids}"), group, scratch)->string_value, "i1,i2");
  EXPECT_EQ(resolve(parse_device_target("${device.model}"), group, scratch)->string_value, "1080ti");
  EXPECT_EQ(resolve(parse_device_target("${device.attr.memory}"), group, scratch)->int_value, 11);
  EXPECT_EQ(resolve(parse_device_target("11 MiB"), group, scratch)->unit, "MiB");
  EXPECT_EQ(resolve(parse_device_target("${device.attr.gone}"), group, scratch), nullptr);
  EXPECT_EQ(resolve(parse_device_target("${attr.memory}"), group, scratch), nullptr);
}

}  // namespace
}  // namespace berth::match
