// Numbers, conversions and unification of HCL values (R-HCL-100 to 110).
#include "hcl/value.h"

#include <gtest/gtest.h>

#include "hcl/unicode.h"

namespace berth::hcl {
namespace {

Number number_of(std::string_view text) {
  const auto parsed = Number::parse(text);
  EXPECT_TRUE(parsed) << text;
  return parsed.value_or(Number());
}
Value value(std::string_view text) { return Value::of(number_of(text)); }

TEST(HclNumbers, PrintTheShortestDigitsThatReadBack) {  // R-HCL-105
  struct Case {
    std::string text, printed;
  };
  for (const Case& c : {Case{"1.50", "1.5"}, Case{"2.0", "2"}, Case{"1e21", "1000000000000000000000"},
                        Case{"100000000000000000000000000000000000001", "100000000000000000000000000000000000001"},
                        Case{"0.000001", "0.000001"}, Case{"01", "1"}}) {
    EXPECT_EQ(number_of(c.text).text(), c.printed);
  }
  EXPECT_EQ(add(number_of("0.1"), number_of("0.2"))->text(), "0.3");
  EXPECT_EQ(number_of("0").negated().text(), "-0");
  EXPECT_EQ(divide(number_of("1"), number_of("3"))->text(), "0." + std::string(154, '3') + "5");
  // A count has 64 bits (R-HCL-103).
  EXPECT_EQ(divide(Number::of(std::int64_t{1}), Number::of(std::int64_t{3}))->text(), "0.33333333333333333334");
  EXPECT_EQ(Number::of(0x1p1000).text().substr(0, 20), "10715086071862673000");
}

TEST(HclNumbers, RefuseTextsThatAreNotDecimal) {  // R-HCL-25, 106
  for (const char* text : {"", "1..2", "1.2.3", "0x10", "1_0", " 1", "1e", "-", "e5", "inf"}) {
    EXPECT_FALSE(Number::parse(text)) << text;
  }
  EXPECT_TRUE(Number::parse("inf", true)->is_infinite());
  EXPECT_EQ(Number::parse("+.5", true)->text(), "0.5");
}

TEST(HclNumbers, HugeExponentsEndAtInfinityAndZero) {
  EXPECT_TRUE(number_of("1e99999999999").is_infinite());
  EXPECT_TRUE(number_of("1e-99999999999").is_zero());
  Number huge = number_of("1e30000");
  huge = *multiply(huge, huge);
  EXPECT_TRUE(huge.is_infinite());
}

TEST(HclNumbers, ArithmeticReportsErrors) {  // R-HCL-143 to 145
  const Number zero = number_of("0"), one = number_of("1");
  const Number infinity = *divide(one, zero);
  EXPECT_TRUE(infinity.is_infinite());
  EXPECT_EQ(divide(zero, zero).error(), "can't divide zero by zero or infinity by infinity");
  EXPECT_EQ(multiply(zero, infinity).error(), "can't multiply zero by infinity");
  EXPECT_EQ(subtract(infinity, infinity).error(), "can't subtract infinity from itself");
  EXPECT_EQ(add(infinity, infinity.negated()).error(), "can't compute sum of opposing infinities");
  EXPECT_EQ(modulo(number_of("5.5"), number_of("2"))->text(), "1.5");
  EXPECT_EQ(modulo(number_of("-5"), number_of("3"))->text(), "-2");
  EXPECT_EQ(modulo(number_of("5"), zero)->text(), "5");
}

TEST(HclNumbers, SmallOnesOverflowIntoLargeOnes) {
  const Number most = number_of("9223372036854775807");
  EXPECT_EQ(add(most, number_of("1"))->text(), "9223372036854775808");
  EXPECT_EQ(multiply(most, most)->text(), "85070591730234615847396907784232501249");
  EXPECT_EQ(number_of("-9223372036854775808").negated().text(), "9223372036854775808");
  EXPECT_FALSE(add(most, number_of("1"))->to_int64());
  EXPECT_EQ(add(most, number_of("1"))->to_uint64(), 9223372036854775808U);
}

TEST(HclConversions, FailInRecordedWords) {  // R-HCL-106 to 109
  struct Case {
    Value value;
    Type wanted;
    std::string error;
  };
  const Value pair = Value::tuple({value("1"), Value::of("x")});
  const Value object = Value::object({{"a", value("1")}});
  const Case cases[] = {
      {Value::of("x"), Kind::number, "a number is required"},
      {Value::of(true), Kind::number, "number required, but have bool"},
      {value("1"), Kind::boolean, "bool required, but have number"},
      {Value::of("True"), Kind::boolean, "a bool is required; to convert from string, use lowercase \"true\""},
      {Value::of("yes"), Kind::boolean, "a bool is required"},
      {pair, Kind::string, "string required, but have tuple"},
      {Value::of("a"), Type::list(Kind::string), "list of string required, but have string"},
      {object, Type::list(Kind::string), "list of string required"},
      {pair, Type::map(Kind::string), "map of string required"},
      {pair, Type::list(Kind::number), "a number is required"},
      {Value::tuple({Value::of(true)}), Type::list(Kind::number), "element 0: number required, but have bool"},
      {Value::object({{"a", pair}}), Type::map(Kind::string), "element \"a\": string required, but have tuple"},
      {Value::object({}), Type::object({{"a", Kind::string}}), "attribute \"a\" is required"},
      {Value::object({}), Type::object({{"a", Kind::string}, {"b", Kind::string}, {"c", Kind::string}}),
       "attributes \"a\", \"b\", and \"c\" are required"},
      {Value::map(Kind::number, {}), Type::object({{"b", Kind::number}}),
       "map has no element for required attribute \"b\""},
      {Value::tuple({value("1")}), Type::tuple({Kind::number, Kind::number}), "tuple required"},
      {Value::tuple({value("1"), Value::of(true)}), Type::list(Type()), "all list elements must have the same type"},
  };
  for (const Case& c : cases) {
    const auto converted = convert(c.value, c.wanted);
    ASSERT_FALSE(converted) << c.error;
    EXPECT_EQ(converted.error(), c.error);
  }
}

TEST(HclConversions, KeepWhatTheyCan) {
  EXPECT_EQ(convert(value("1.50"), Kind::string)->string(), "1.5");
  EXPECT_TRUE(convert(Value::of("1"), Kind::boolean)->boolean());
  const auto set = convert(Value::tuple({Value::of("b"), Value::of("a"), Value::of("b")}), Type::set(Kind::string));
  ASSERT_EQ(set->size(), 2U);
  EXPECT_EQ(set->items()[0].string(), "a");
  EXPECT_EQ(convert(Value::tuple({Value::null(), value("1")}), Type::list(Type()))->type(), Type::list(Kind::number));
  EXPECT_TRUE(convert(Value::null(), Type::map(Kind::string))->is_null());
  EXPECT_FALSE(convert(Value::unknown(), Kind::number)->is_known());
}

TEST(HclTypes, UnifyAsRecorded) {  // R-HCL-110
  const Type string = Kind::string, number_type = Kind::number, boolean = Kind::boolean;
  const auto unified = [](std::vector<Type> types) {
    const auto type = unify(types);
    return type ? type->expression() : "none";
  };
  EXPECT_EQ(unified({string, number_type}), "string");
  EXPECT_EQ(unified({number_type, boolean}), "none");
  EXPECT_EQ(unified({Type::tuple({string}), Type::tuple({number_type})}), "tuple([string])");
  EXPECT_EQ(unified({Type::tuple({string}), Type::tuple({})}), "list(string)");
  EXPECT_EQ(unified({Type::list(number_type), Type::tuple({string})}), "list(string)");
  EXPECT_EQ(unified({Type::set(number_type), Type::tuple({number_type})}), "set(number)");
  EXPECT_EQ(unified({Type::object({{"a", string}}), Type::object({{"b", number_type}})}), "map(string)");
  EXPECT_EQ(unified({Type::object({{"a", string}}), Type::object({{"a", number_type}})}), "object({a=string})");
  EXPECT_EQ(unified({Type::map(number_type), Type::object({{"a", string}})}), "map(string)");
  EXPECT_EQ(unified({Type::object({}), Type::tuple({})}), "none");
  EXPECT_EQ(unified({Type(), number_type}), "number");
}

TEST(HclValues, AreWeighedByTheirExpandedSize) {
  Value value = Value::tuple({Value::of("0123456789")});
  for (int i = 0; i < 40; ++i) value = Value::tuple({value, value});
  EXPECT_TRUE(value.too_large());  // 2^40 texts in 41 tuples
  Value deep = Value::empty_tuple();
  for (int i = 0; i < kMaxDepth; ++i) deep = Value::tuple({deep});
  EXPECT_TRUE(deep.too_deep());
}

TEST(HclUnicode, CountsGraphemeClusters) {  // R-HCL-21, 102
  EXPECT_EQ(grapheme_count("e\xCC\x81"), 1U);
  EXPECT_EQ(grapheme_count("\xF0\x9F\x91\xA8\xE2\x80\x8D\xF0\x9F\x91\xA9x"), 2U);
  EXPECT_EQ(grapheme_count("\r\n"), 1U);
  EXPECT_EQ(Value::of("e\xCC\x81").string(), "\xC3\xA9");
  EXPECT_EQ(nfc("\xFF"), "\xEF\xBF\xBD");
  EXPECT_TRUE(is_identifier_start(0xE9));
  EXPECT_FALSE(is_identifier_start('-'));
  EXPECT_TRUE(is_identifier_continue('-'));
}

}  // namespace
}  // namespace berth::hcl
