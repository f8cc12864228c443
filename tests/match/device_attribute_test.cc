#include "match/device_attribute.h"

#include <gtest/gtest.h>

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

TEST(ParseDeviceLiteral, TypesTheText) {  // R-FEAS-921 to 923
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
