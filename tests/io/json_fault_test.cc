// Positions of errors in JSON: by hand, and that simdjson and the search for the position agree on whether a text is
// JSON.
#include "io/json_fault.h"

#include <gtest/gtest.h>

#include <random>

#include "io/json_parse.h"
#include "support/sanitized.h"

namespace berth::io {
namespace {

struct FaultCase {
  const char *text, *place, *problem;
};

TEST(JsonFault, IsNamedWithLineAndColumn) {
  for (const FaultCase& c : {
           FaultCase{"", "1:1", "the text is empty"},
           FaultCase{"{\n  \"a\": 1\n  \"b\": 2\n}", "3:3", "expected ',' or '}', found '\"'"},
           FaultCase{"[1, 2", "1:6", "the text ends where ',' or ']' is expected"},
           FaultCase{"{\"a\": tru}", "1:7", "expected a value, found 't'"},
           FaultCase{"{\"\xC3\xA4\": nul}", "1:7", "expected a value, found 'n'"},
           FaultCase{"[1,]", "1:4", "expected a value, found ']'"},
           FaultCase{"{\"a\":1,}", "1:8", "expected a key in double quotes, found '}'"},
           FaultCase{"{a: 1}", "1:2", "expected a key in double quotes, found 'a'"},
           FaultCase{"{\"a\" 1}", "1:6", "expected ':', found '1'"},
           FaultCase{"[01]", "1:2", "a number begins with 0"},
           FaultCase{"[1.]", "1:4", "expected a digit, found ']'"},
           FaultCase{"[99999999999999999999]", "1:2", "the number 99999999999999999999 has more than 64 bits"},
           FaultCase{"[1e999]", "1:2", "the number 1e999 has more than 64 bits"},
           FaultCase{"[\"a\nb\"]", "1:4", "a control character in a string; a line feed is written \\n"},
           FaultCase{"[\n\"abc", "2:1", "a string is not closed"},
           FaultCase{"[\"\\x\"]", "1:3", "an escape that JSON does not have"},
           FaultCase{"[\"\\ud800\"]", "1:3", "half of a pair of surrogates"},
           FaultCase{"[\"\xC3(\"]", "1:3", "a byte that is not UTF-8"},
           FaultCase{"[\"\xED\xA0\x80\"]", "1:3", "a byte that is not UTF-8"},
           FaultCase{"{} []", "1:4", "something follows the end of the document"},
           FaultCase{"[NaN]", "1:2", "expected a value, found 'N'"},
       }) {
    const auto parsed = parse_json(c.text, "f.json");
    ASSERT_FALSE(parsed) << c.text;
    EXPECT_EQ(parsed.error().place, c.place) << c.text;
    EXPECT_EQ(parsed.error().problem, std::string("not JSON: ") + c.problem) << c.text;
    EXPECT_FALSE(parsed.error().remedy.empty());
  }
  EXPECT_EQ(parse_json("[1,]", "h.jsonl", "7").error().place, "7:4") << "a line of a file";
  EXPECT_EQ(parse_json(std::string(1200, '[')).error().problem, "not JSON: more than 1,024 levels are nested");
}

/// simdjson is the reference: the search must find a place in every text that it refuses, and none in the others.
TEST(JsonFault, AgreesWithTheParser) {
  const std::string seed_text =
      R"({"Job": {"ID": "web\u00e4\ud83d\ude00", "Count": -12, "Share": 1.5e-3, "List": [true, false, null, {}, []],)"
      "\n \"Big\": 18446744073709551615, \"Text\": \"\xC3\xA4 \\\"quoted\\\" \\\\ \xF0\x9F\x98\x80\"}}";
  ASSERT_FALSE(find_json_fault(seed_text));
  const std::string letters = "{}[]\",:0123456789-+.eEtrufalsn\\/ \n\t\x01\x80\xC3\xED\xF0u";
  std::mt19937_64 random(7);
  std::size_t refused = 0;
  for (std::size_t round = 0; round < testing::rounds(40'000); ++round) {
    std::string text = seed_text;
    for (std::size_t change = 0; change <= random() % 3; ++change) {
      const std::size_t at = random() % text.size();
      const char letter = letters[random() % letters.size()];
      switch (random() % 4) {
        case 0:
          text.erase(at, 1 + random() % 4);
          break;
        case 1:
          text.insert(at, 1, letter);
          break;
        case 2:
          text[at] = letter;
          break;
        default:
          text.resize(at + 1);
      }
      if (text.empty()) text = " ";
    }
    const bool parsed = parse_json(text).has_value();
    const auto fault = find_json_fault(text);
    ASSERT_EQ(parsed, !fault) << text << "\n" << (fault ? fault->problem : "no fault");
    if (fault) {
      ASSERT_LE(fault->offset, text.size());
    }
    refused += !parsed;
  }
  EXPECT_GT(refused, testing::rounds(40'000) / 3);
}

TEST(JsonFault, PointersHavePlaces) {
  const std::string text =
      "{\n \"Job\": {\"ID\": \"a]}\\\"\",\n  \"taskgroups\": [{\"Count\": 1},\n   {\"Count\": \"x\"}], \"a/b\": 7}}";
  struct Place {
    const char *pointer, *place;
  };
  for (const Place& c : {Place{"/Job", "2:9"}, Place{"/Job/TaskGroups/1/Count", "4:14"}, Place{"/Job/a~1b", "4:28"},
                         Place{"/Job/TaskGroups/1/Name", "4:4"}}) {
    EXPECT_EQ(with_line({"f", c.pointer, "p", "r"}, text).place, std::string(c.place) + ": " + c.pointer);
  }
  EXPECT_EQ(with_line({"f", "/v1/nodes/0", "p", "r"}, text).place, "/v1/nodes/0") << "no pointer into this text";
  EXPECT_EQ(with_line({"f", "line 3", "p", "r"}, text).place, "line 3");
  EXPECT_FALSE(find_pointer(text, "/Job/Nothing"));
}

TEST(JsonFault, HclIsRecognised) {
  for (const char* hcl : {"job \"web\" {\n}", "# a comment\n// another\n/* and\none */ job \"a\" \"b\" {",
                          "variables {", "  locals {\n", "variable \"x\" {}"})
    EXPECT_TRUE(looks_like_hcl(hcl)) << hcl;
  for (const char* other : {"{\"Job\": {}}", "", "name = \"x\"", "job", "job \"web", "/* open", "true", "[cluster]"})
    EXPECT_FALSE(looks_like_hcl(other)) << other;
  EXPECT_EQ(parse_json("job \"web\" {\n}", "web.hcl").error().line(),
            "web.hcl: is HCL, not JSON; `nomad job run -output FILE.hcl > FILE.json` makes JSON of it");
}

}  // namespace
}  // namespace berth::io
