#include "match/operand.h"

#include <gtest/gtest.h>

#include <iterator>
#include <random>
#include <string>

namespace berth::match {
namespace {

bool asks(const char* operand, Side left, Side right) {
  Patterns patterns;
  return evaluate(parse_operand(operand), left, right, patterns);
}
bool asks(const char* operand, std::string_view left, std::string_view right) {
  return asks(operand, Side{left, true}, Side{right, true});
}

struct OrderCase {
  const char *left, *operand, *right;
  bool result;
};

TEST(Operand, OrdersAsIntegersThenDoublesThenBytes) {  // R-FEAS-611 to 614, example E8
  for (const OrderCase& c : {
           OrderCase{"10", ">", "9", true},
           {"10", ">", "9a", false},
           {"1.0", ">=", "1", true},
           {"9223372036854775808", ">", "9223372036854775807", false},
           {"9223372036854775808", ">=", "9223372036854775807", true},
           {"1e400", "<", "2", true},
           {"1_0", ">", "9", true},
           {"0x10", ">", "15", false},
           {"0x10p0", ">", "15", true},
           {"+5", ">=", "05", true},
           {" 5", "<", "6", true},
           {"nan", "<", "1", false},
           {"nan", ">=", "1", false},
           {"1", "<", "nan", false},
           {"inf", ">", "1e308", true},
           {"", "<", "a", true},
       })
    EXPECT_EQ(asks(c.operand, c.left, c.right), c.result) << c.left << ' ' << c.operand << ' ' << c.right;
}

TEST(Operand, MissingSidesFollowTheTable) {  // R-FEAS-609; columns M,v  v,M  M,M  M,e  e,M  e,v
  const Side m{}, e{"", true}, v{"v", true};
  const std::pair<Side, Side> columns[] = {{m, v}, {v, m}, {m, m}, {m, e}, {e, m}, {e, v}};
  const std::pair<const char*, const char*> rows[] = {
      {"=", "FFFFFF"},
      {"is", "FFFFFF"},
      {"!=", "TTFFFT"},
      {"not", "TTFFFT"},
      {"<", "FFFFFT"},
      {">", "FFFFFF"},
      {"version", "FFFFFF"},
      {"semver", "FFFFFF"},
      {"regexp", "FFFFFF"},
      {"set_contains", "FFFFFF"},
      {"is_set", "FTFFTT"},
      {"is_not_set", "TFTTFF"},
      {"distinct_hosts", "TTTTTT"},
      {"between", "FFFFFF"},
  };
  for (const auto& [operand, results] : rows)
    for (int i = 0; i < 6; ++i)
      EXPECT_EQ(asks(operand, columns[i].first, columns[i].second), results[i] == 'T') << operand << ", column " << i;
}

TEST(Operand, ComparesSetsElementwise) {  // R-FEAS-651, 652
  EXPECT_TRUE(asks("set_contains", "a, b ,c", " c,a"));
  EXPECT_FALSE(asks("set_contains_all", "a,b", "a,d"));
  EXPECT_TRUE(asks("set_contains_any", "a,b", "d,b"));
  EXPECT_TRUE(asks("set_contains", "a,,b", ""));
  EXPECT_FALSE(asks("set_contains", "a,b", ""));
  EXPECT_TRUE(asks("set_contains", "\u00a0a\u2003", "a"));
}

/// A Matcher looks up left elements in a sorted list; this compares every pair.
TEST(Operand, FindingAMemberOfASetEqualsComparingAll) {  // R-FEAS-652
  std::mt19937 random(3);
  const auto draw = [&](std::size_t most) {
    std::string out;
    for (std::size_t n = random() % most; n > 0; --n) {
      static constexpr const char* kElements[] = {"", "a", " b", "b ", "ab", "B", "aa", "c,d", "\u00e9", " "};
      out += (out.empty() ? "" : ",") + std::string(kElements[random() % std::size(kElements)]);
    }
    return out;
  };
  int held = 0;
  for (int round = 0; round < 2000; ++round) {
    const std::string left = draw(4), right = draw(12);
    const bool wanted = set_contains(Operand::set_contains_any, left, right);
    EXPECT_EQ(asks("set_contains_any", left, right), wanted) << '[' << left << "] [" << right << ']';
    held += wanted;
  }
  EXPECT_GT(held, 300);
  EXPECT_LT(held, 1900);
}

struct RegexpCase {
  const char* expression;
  std::string_view text;
  bool result;
};

TEST(Regexp, ReadsGoSyntax) {  // R-FEAS-641, 642
  for (const RegexpCase& c : {
           RegexpCase{"", "x", true},
           {"b+", "abbc", true},
           {"^b", "ab", false},
           {"(?<name>a)(?P<other>b)", "xaby", true},
           {"(?<=a)b", "ab", false},
           {"(?<n-m>a)", "a", false},
           {"[(?<n>]", "<", true},     // inside brackets these are plain characters
           {"\\(?<n>", "(<n>", true},  // an escaped parenthesis opens no group
           {"\\Q(?<n>\\E$", "(?<n>", true},
           {"\\Qa.c", "a.c", true},
           {"\\Qa.c", "abc", false},
           {"\\pN", "7", true},
           {"(?U)a+$", "aaa", true},
           {"foo$", "foo\n", false},  // `$` does not match before a final newline
           {"(?m)foo$", "foo\n", true},
           {"\\C", "a", false},  // Go has no \C
           {"a{1001}", "a", false},
           {"(?=a)", "a", false},
           {"^.$", "\xff", true},  // a bad byte reads as one U+FFFD
           {"^\\x{FFFD}$", "\xff", true},
           {"^..$", "\xe2\x82", true},  // each byte of a broken sequence on its own
           {"[[:alpha:]]+", "abc", true},
           {"[]a]", "]", true},
           {"\xff", "\xff", false},  // a broken expression does not compile
       })
    EXPECT_EQ(asks("regexp", c.text, c.expression), c.result) << c.expression << " on " << c.text;
}

TEST(Matcher, AnswersManyLeftSidesFromOneParse) {
  Patterns patterns;
  const Matcher matcher(Operand::version, Side{">= 1.2, < 2", true}, patterns);
  EXPECT_TRUE(matcher(Side{"1.2.9", true}));
  EXPECT_FALSE(matcher(Side{"2.0", true}));
  EXPECT_FALSE(matcher(Side{"linux", true}));
  EXPECT_FALSE(matcher(Side{}));
}

TEST(Constraint, ComparesTwoTargetsOfANode) {
  model::Node node;
  node.attributes = {{"a", "x"}, {"n", "10"}};
  node.meta = {{"b", "x"}, {"n", "9"}};
  Patterns patterns;
  EXPECT_TRUE(holds(compile("${attr.a}", "=", "${meta.b}", patterns), node, patterns));
  EXPECT_TRUE(holds(compile("${attr.n}", ">", "${meta.n}", patterns), node, patterns));
  EXPECT_FALSE(holds(compile("${attr.gone}", "=", "${meta.gone}", patterns), node, patterns));
  EXPECT_TRUE(holds(compile("${attr.a}", "is_set", "", patterns), node, patterns));
  EXPECT_FALSE(compile("${attr.a}", "=", "${meta.b}", patterns).fixed.has_value());
  EXPECT_TRUE(compile("${attr.a}", "=", "${nonsense}", patterns).fixed.has_value());
}

TEST(Target, ResolvesByTheTable) {  // R-FEAS-502 to 513
  model::Node node;
  node.id = "id", node.name = "name", node.datacenter = "dc1", node.node_pool = "pool";
  node.attributes = {{"cpu.arch", "amd64"}, {"a}-x", "odd"}, {"empty", ""}};
  const auto value = [&](std::string_view text) {
    static Target target;
    target = parse_target(text);
    return resolve(target, node);
  };
  EXPECT_EQ(value("plain"), (Side{"plain", true}));
  EXPECT_EQ(value(""), (Side{"", true}));
  EXPECT_EQ(value("${node.unique.id}"), (Side{"id", true}));
  EXPECT_EQ(value("${node.class}"), (Side{"", true}));
  EXPECT_EQ(value("${attr.cpu.arch}"), (Side{"amd64", true}));
  EXPECT_EQ(value("${attr.cpu.arch"), (Side{"amd64", true}));
  EXPECT_EQ(value("${attr.a}-x"), (Side{"odd", true}));
  EXPECT_EQ(value("${attr.empty}"), (Side{"", true}));
  EXPECT_EQ(value("${meta.gone}"), (Side{"", false}));
  EXPECT_EQ(value("${node.region}"), (Side{"", false}));
  EXPECT_EQ(value("${device.model}"), (Side{"", false}));
}

TEST(EscapesClass, DependsOnBothTargetsAndNotOnTheOperand) {  // R-FEAS-405
  EXPECT_TRUE(escapes_class({"${meta.unique.x}", "", "distinct_property"}));
  EXPECT_TRUE(escapes_class({"x", "${attr.unique.y}", "="}));
  EXPECT_FALSE(escapes_class({"", "", "distinct_hosts"}));
  EXPECT_FALSE(escapes_class({"${attr.cpu.unique.x}", "", "="}));
}

}  // namespace
}  // namespace berth::match
