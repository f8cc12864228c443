// Seeded random texts for every parser of this folder: no crash, and equal results where there are two implementations.
#include <gtest/gtest.h>

#include <random>
#include <span>

#include "match/device_attribute.h"
#include "match/operand.h"

namespace berth::match {
namespace {

class Texts {
 public:
  explicit Texts(std::uint64_t seed) : random_(seed) {}
  /// Up to `longest` pieces of `alphabet`, sometimes a raw byte.
  std::string next(std::span<const std::string_view> alphabet, std::size_t longest) {
    std::string out;
    for (std::size_t n = random_() % (longest + 1); n > 0; --n) {
      if (random_() % 16 == 0)
        out += static_cast<char>(random_());
      else
        out += alphabet[random_() % alphabet.size()];
    }
    return out;
  }

 private:
  std::mt19937_64 random_;
};

constexpr std::uint64_t kSeed = 20261122;

TEST(MatchFuzz, VersionsCompareWithThemselvesAsEqual) {
  constexpr std::string_view kPieces[] = {"0", "1", "12", ".", "-", "~", "+", "v", "a", "rc", "9999999999999999999"};
  Texts texts(kSeed);
  std::size_t parsed = 0;
  for (int i = 0; i < 100'000; ++i) {
    const std::string text = texts.next(kPieces, 8);
    const auto version = parse_version(text);
    if (!version) {
      EXPECT_FALSE(parse_version(text, VersionGrammar::strict)) << text;
      continue;
    }
    ++parsed;
    EXPECT_EQ(compare(*version, *version), 0) << text;
    const auto equal = VersionConstraints::parse("= " + text, VersionConstraints::Rules::version);
    ASSERT_TRUE(equal) << text;
    EXPECT_TRUE(equal->satisfied_by(text)) << text;
  }
  EXPECT_GT(parsed, 1000u);
}

TEST(MatchFuzz, VersionListsNeverCrash) {
  constexpr std::string_view kPieces[] = {">", "<", "=", "!", "~>", ",", " ", "1", ".2", "-rc", "+m", "\t", "v"};
  Texts texts(kSeed + 1);
  std::size_t parsed = 0;
  for (int i = 0; i < 100'000; ++i) {
    const std::string list = texts.next(kPieces, 8);
    const auto lenient = VersionConstraints::parse(list, VersionConstraints::Rules::version);
    const auto strict = VersionConstraints::parse(list, VersionConstraints::Rules::semver);
    if (lenient) {
      ++parsed;
      static_cast<void>(lenient->satisfied_by("1.2.3-rc"));
    }
    if (strict) {
      EXPECT_TRUE(lenient) << list;  // the strict grammar is part of the lenient one
    }
  }
  EXPECT_GT(parsed, 1000u);
}

TEST(MatchFuzz, ExpressionsNeverCrash) {
  constexpr std::string_view kPieces[] = {"(",  ")", "(?<n>", "(?P<m>", "(?", "[",  "]", "^",   "[:alpha:]", "-",
                                          "\\", "Q", "E",     "C",      "pL", "p{", "}", "{",   "2",         "*",
                                          "+",  "?", "|",     "$",      ".",  "a",  "é", "\\Q", "\\E"};
  constexpr std::string_view kSubjects[] = {"a", "é", "(", "<", "\n", "b"};
  Texts texts(kSeed + 2);
  std::size_t compiled = 0;
  for (int i = 0; i < 20'000; ++i) {
    const auto expression = Regexp::compile(texts.next(kPieces, 8));
    if (!expression) continue;
    ++compiled;
    static_cast<void>(expression->matches(texts.next(kSubjects, 6)));
  }
  EXPECT_GT(compiled, 1000u);
}

TEST(MatchFuzz, OrderRelationsComplementEachOther) {  // R-FEAS-611, 614
  constexpr std::string_view kPieces[] = {"1", "0", ".", "_", "e", "-", "+", "0x", "p", "inf", "nan", ",", " ", "a"};
  Texts texts(kSeed + 3);
  Patterns patterns;
  std::size_t unordered = 0;
  for (int i = 0; i < 50'000; ++i) {
    const std::string left = texts.next(kPieces, 4), right = texts.next(kPieces, 4);
    const auto asks = [&](Operand operand) { return evaluate(operand, {left, true}, {right, true}, patterns); };
    const int relations = asks(Operand::less) + asks(Operand::greater_equal);
    EXPECT_EQ(relations, asks(Operand::greater) + asks(Operand::less_equal)) << left << " | " << right;
    EXPECT_LE(relations, 1) << left << " | " << right;
    if (relations == 0) {
      ++unordered;
      EXPECT_TRUE(left == "nan" || right == "nan") << left << " | " << right;
    }
    EXPECT_NE(asks(Operand::equal), asks(Operand::not_equal)) << left << " | " << right;
  }
  EXPECT_GT(unordered, 10u);
}

TEST(MatchFuzz, DeviceNumbersCompareAntisymmetrically) {  // R-FEAS-932, all but bools and NaN
  constexpr std::string_view kPieces[] = {
      "1",   "0",   "9",  ".",  "-",  "e",    "e300", "e-320", "9223372036854775807",
      "inf", "nan", " W", "mW", "GW", " EiB", " kB",  " MB/s", "GHz"};
  Texts texts(kSeed + 4);
  std::size_t ordered = 0;
  for (int i = 0; i < 200'000; ++i) {
    const std::string l = texts.next(kPieces, 4), r = texts.next(kPieces, 4);
    const auto left = parse_device_literal(l), right = parse_device_literal(r);
    if (left.bool_value) continue;
    const DeviceOrder forth = compare(left, right), back = compare(right, left);
    const auto mirrored = [](DeviceOrder o) {
      return o == DeviceOrder::less ? DeviceOrder::greater : o == DeviceOrder::greater ? DeviceOrder::less : o;
    };
    EXPECT_EQ(forth, mirrored(back)) << l << " | " << r;
    ordered += left.float_value && (forth == DeviceOrder::less || forth == DeviceOrder::greater);
  }
  EXPECT_GT(ordered, 300u);
}

}  // namespace
}  // namespace berth::match
