// Corner cases of the grammar (R-HCL-20 to 93): values and errors of expressions, errors of files. The test `conform`
// replays the recorded expressions.
#include <gtest/gtest.h>

#include "hcl/lexer.h"
#include "support/sanitized.h"
#include "tests/hcl/evaluated.h"

namespace berth::hcl {
namespace {

struct Case {
  std::string text, result;
};

TEST(HclExpression, HasTheValueOrTheErrorOfItsText) {
  for (const Case& c : std::vector<Case>{
           // Numbers (R-HCL-25).
           {"01", "1"},
           {"1.e5", "100000"},
           {"1e",
            "x:1,2-3: Extra characters after expression; An expression was successfully parsed, but extra "
            "characters were found after it."},
           {"1...",
            "x:1,2-5: Extra characters after expression; An expression was successfully parsed, but extra "
            "characters were found after it."},
           // Operators (R-HCL-51): levels, and long runs of one level.
           {"1 + 2 * 3 - 4 - 5", "-2"},
           {"2 * 3 + 4 * 5 == 26 && !false || false", "true"},
           {"false ? 1 : true ? 2 : 3", "2"},
           {"-[1][0]", "-1"},
           {"10 - 3 - 2 > 4 == true", "true"},
           // Templates (R-HCL-30 to 37).
           {R"("a\tb\u00e9\U0001F600\"\\")", R"("a\tbé😀\"\\")"},
           {R"("\ud800")", "x:1,2-8: Invalid escape sequence; Cannot encode character U+d800 in UTF-8."},
           {R"("$${a} %%{b} $ % $$ 100%")", R"("${a} %{b} $ % $$ 100%")"},
           {R"("${"a${"b"}"}")", R"("ab")"},
           {R"("${{a = "x"}.a}")", R"("x")"},
           {"<<A\n\\n \"q\" $${x}\nA\n", "\"\\\\n \\\"q\\\" ${x}\\n\""},
           {"<<-A\r\n  a\r\n    b\r\n  A\r\n", "\"a\\r\\n  b\\r\\n\""},
           {"<<-A\n\ta\n\t\tb\nA\n", "\"a\\n\\tb\\n\""},
           {"<<-A\n  %{ for x in [1, 2] ~}\n  s${x}\n  %{ endfor ~}\n  A\n", "\"  s1\\n  s2\\n\""},
           {"<<A\nx\nA x\nA\n", "\"x\\nA x\\n\""},
           {"<<A\nx\nA", "x:3,2-2: Unterminated template string; No closing marker was found for the string."},
           {"<<A\nA\n", "\"\""},
           {"\"a\nb\"",
            "x:1,3-2,1: Invalid multi-line string; Quoted strings may not be split over multiple lines. To "
            "produce a multi-line string, either use the \\n escape to represent a newline character or use "
            "the \"heredoc\" multi-line template syntax."},
           {R"("%{ of x }")",
            "x:1,5-7: Invalid template control keyword; \"of\" is not a valid template control "
            "keyword. Did you mean \"if\"?"},
           {"\"a\n\r\n\nb\"",
            "x:1,3-4,1: Invalid multi-line string; Quoted strings may not be split over multiple lines. To "
            "produce a multi-line string, either use the \\n escape to represent a newline character or use "
            "the \"heredoc\" multi-line template syntax."},
           {R"("%{ if x")",
            "x:1,9-10: Extra characters in if marker; Expected a closing brace to end the sequence, but found extra "
            "characters."},
           {R"("${x "y"}")",
            "x:1,2-4: Unclosed template interpolation sequence; There is no closing brace for this interpolation "
            "sequence before the end of the quoted template. This might be caused by incorrect nesting inside the "
            "given expression."},
           // Newlines and comments (R-HCL-23, 52, 53).
           {"{ # c\n a = 1 // c\n b = /* c */ 2\n}", R"({"a":1,"b":2})"},
           {"[\n1,\n2,\n]", "[1,2]"},
           {"{a = (\n1\n+\n2)}", R"({"a":3})"},
           {"{\n for x in [1] :\n \"k${x}\" => x\n}", R"({"k1":1})"},
           // Steps (R-HCL-56 to 58).
           {"{a = [[1, 2]]}.a.0[1]", "2"},
           {"[[1]].0.0",
            "x:1,7-10: Invalid legacy index syntax; When using the legacy index syntax, chaining two indexes "
            "together is not permitted. Use the proper index syntax instead, like [0][0]."},
           {"[[1]].1.20e3",
            "x:1,7-13: Invalid legacy index syntax; When using the legacy index syntax, chaining two indexes "
            "together is not permitted. Use the proper index syntax instead, like [1][20e3]."},
           {"x[1 [2] 3]",
            "x:1,10-11: Missing close bracket on index; The index operator must end with a closing bracket (\"]\")."},
           {"[[1]][\n0\n]", "[1]"},
           {"{a = [[1]][*\n]}",
            "x:2,1-2: Missing close bracket on splat index; The star for a full splat operator must be immediately "
            "followed by a closing bracket (\"]\")."},
           {"f(1, 2",
            "x:1,1-3: Unterminated function call; There is no closing parenthesis for this function call before the "
            "end "
            "of the file. This may be caused by incorrect parenthesis nesting elsewhere in this file."},
           {"{for x in y : x z}",
            "x:1,17-18: Invalid 'for' expression; Extra characters after the end of the 'for' expression."},
           {"[for x in y : x => x]",
            "x:1,15-16: Invalid 'for' expression; Key expression is not valid when building a tuple."},
           {"[for x in y : x...]",
            "x:1,16-19: Invalid 'for' expression; Grouping ellipsis (...) cannot be used when building a tuple."},
           {"[{a = [{b = 1}, {b = 2}]}][*].a[*].b", "[[1,2]]"},
           {"[{a = [1]}, {a = [2]}].*.a[0]", "[1]"},
           // Functions: errors that depend on the form of an argument (R-HCL-109, 584).
           {"formatlist(\"x\", [1])",
            "x:1,1-12: Error in function call; Call to function \"formatlist\" failed: error on format iteration 0: "
            "too "
            "many arguments; no verbs in format string."},
           {"distinct({})",
            "x:1,10-11: Invalid function argument; Invalid value for \"list\" parameter: list of any single type "
            "required."},
           // Runtime references (R-HCL-311 to 314).
           {"attr.x", R"("${attr.x}")"},
           {R"("${env["FOO"]}")", R"("${env[\"FOO\"]}")"},
           {R"("${ node.unique.id }")", R"("${ node.unique.id }")"},
           {R"("${attr.x}}")", R"("${attr.x}}}")"},
           {R"("${attr.x} }")", R"("${attr.x} } }")"},
           {R"("${~ node.class ~}")", R"("${node.class}")"},
           {"upper(attr.x)", R"("${ATTR.X}")"},
       }) {
    EXPECT_EQ(evaluated(c.text), c.result) << c.text;
  }
}

TEST(HclFile, IsRefusedInNomadsWords) {
  const std::string job = "job \"j\" {}\n";
  for (const Case& c : std::vector<Case>{
           {"", "<nil>: Missing job block; A job block is required"},
           {job + "\xEF\xBB\xBF",
            "f.hcl:2,1-2: Invalid character; This character is not used within the language., and "
            "1 other diagnostic(s)"},
           {"\xEF\xBB\xBF" + job, ""},
           {"job \"j\" {\r\n}\r\n", ""},
           {"job j {}", ""},
           {"job \"j\"\n{}\n",
            "f.hcl:1,8-2,1: Invalid block definition; A block definition must have block content "
            "delimited by \"{\" and \"}\", starting on the same line as the block header., and 1 other "
            "diagnostic(s)"},
           {"job \"j\" = {}\n",
            "f.hcl:1,9-10: Invalid block definition; The equals sign \"=\" indicates an argument "
            "definition, and must not be used when defining a block."},
           {"job \"j\" { a = 1, b = 2 }\n",
            "f.hcl:1,16-17: Invalid single-argument block definition; Single-line block syntax can include only one "
            "argument definition. To define multiple arguments, use the multi-line block syntax with one argument "
            "definition per line."},
           {"job \"j\" { a = 1\n}\n",
            "f.hcl:1,16-2,1: Invalid single-argument block definition; An argument definition on the same line as its "
            "containing block creates a single-line block definition, which must also be closed on the same line. "
            "Place "
            "the block's closing brace immediately after the argument definition."},
           {"job \"j\" { meta { a = 1 } }\n",
            "f.hcl:1,11-17: Argument definition required; A single-line block definition can contain only a single "
            "argument. If you meant to define argument \"meta\", use an equals sign to assign it a value. To define a "
            "nested block, place it on a line of its own within its parent block."},
           {"job \"j\" { \"a\" = 1 }\n",
            "f.hcl:1,11-12: Argument or block definition required; An argument or block definition is required here."},
           {"job \"j\" { a = 1",
            "f.hcl:1,9-10: Unclosed configuration block; There is no closing brace for this block before the end of "
            "the file. This may be caused by incorrect brace nesting elsewhere in this file."},
           {"job \"j\" { a = 1, b = 2 }\n\n",
            "f.hcl:1,16-17: Invalid single-argument block definition; Single-line block syntax can include only one "
            "argument definition. To define multiple arguments, use the multi-line block syntax with one argument "
            "definition per line."},
           {"job \"j\" { a\n}\nb = 1\n",
            "f.hcl:1,11-12: Argument or block definition required; An argument or block definition is required here. "
            "To "
            "set an argument, use the equals sign \"=\" to introduce the argument value."},
           {"job \"j\" { a }\n\n",
            "f.hcl:2,1-3,1: Invalid single-argument block definition; An argument definition on the same line as its "
            "containing block creates a single-line block definition, which must also be closed on the same line. "
            "Place the block's closing brace immediately after the argument definition., and 1 other diagnostic(s)"},
           {"job \"j\"",
            "f.hcl:1,8-8: Invalid block definition; Either a quoted string block label or an opening brace (\"{\") is "
            "expected here."},
           {"job \"j",
            "f.hcl:1,7-7: Unterminated string literal; Unable to find the closing quote mark before the end of the "
            "file."},
           {"a = //x\nb = 1\n",
            "f.hcl:1,5-2,1: Invalid expression; Expected the start of an expression, but found an invalid expression "
            "token."},
           {"a = 1 ~}\n",
            "f.hcl:1,7-9: Missing newline after argument; An argument definition must end with a newline."},
           {"a = <<X\n${x \"y\"}\nX\n",
            "f.hcl:2,5-6: Extra characters after interpolation expression; Expected a closing brace to end the "
            "interpolation expression, but found extra characters.\n\nThis can happen when you include interpolation "
            "syntax for another language, such as shell scripting, but forget to escape the interpolation start token. "
            "If this is an embedded sequence for another language, escape it by starting with \"$${\" instead of just "
            "\"${\"."},
           {"job \"j\" {\n a = 1 }\n",
            "f.hcl:2,8-9: Missing newline after argument; An argument definition must end with "
            "a newline."},
           {"job \"j\" {\n",
            "f.hcl:1,9-10: Unclosed configuration block; There is no closing brace for this block before "
            "the end of the file. This may be caused by incorrect brace nesting elsewhere in this file."},
           {"a = = 1\nb == 2\n",
            "f.hcl:1,5-6: Invalid expression; Expected the start of an expression, but found an "
            "invalid expression token., and 1 other diagnostic(s)"},
           {"a = 1\na = 2\n",
            "f.hcl:2,1-2: Attribute redefined; The argument \"a\" was already set at f.hcl:1,1-2. Each "
            "argument may be set only once."},
           {"a = \"\xFF\"\n",
            "f.hcl:1,6-7: Invalid character encoding; All input files must be UTF-8 encoded. Ensure that "
            "UTF-8 encoding is selected in your editor."},
           {std::string("a = 1\0\n", 7),
            "f.hcl:1,6-7: Invalid character; This character is not used within the language., "
            "and 1 other diagnostic(s)"},
           {"/* open",
            "f.hcl:1,1-2: Argument or block definition required; An argument or block definition is required "
            "here."},
           {"job \"j\" {\n /* open\n}\n",
            "f.hcl:2,2-3: Argument or block definition required; An argument or block "
            "definition is required here."},
       }) {
    EXPECT_EQ(module_error(c.text), c.result) << c.text;
  }
}

std::string repeated(std::string_view piece, std::size_t times) {
  std::string text;
  for (std::size_t i = 0; i < times; ++i) text += piece;
  return text;
}

// Every nested construct has a bound with its own error; nothing overflows the stack.
TEST(HclNesting, IsBounded) {
  const std::size_t kDeep = testing::rounds(200'000);
  for (const std::string& text : {
           repeated("(", kDeep),
           repeated("[", kDeep),
           repeated("{a=", kDeep),
           repeated("-", kDeep) + "1",
           repeated("a ? ", kDeep) + "1",
           repeated("true ? 1 : ", kDeep) + "1",
           repeated("f(", kDeep),
           repeated("\"${", kDeep),
           repeated("a[", kDeep),
           "x" + repeated("[*]", kDeep),
           "\"" + repeated("%{ if true }", kDeep) + "\"",
           repeated("[for x in [1] : ", kDeep) + "x",
       }) {
    const std::string result = evaluated(text);
    EXPECT_NE(result.find("Nesting too deep; Expressions and blocks may be nested 1000 levels deep. Make this part"),
              std::string::npos)
        << text.substr(0, 20) << ": " << result.substr(0, 200);
  }
  EXPECT_NE(module_error(repeated("a {\n", kDeep)).find("Nesting too deep"), std::string::npos);
  EXPECT_NE(module_error(repeated("{\"a\":", kDeep)).find("Nesting too deep"), std::string::npos);
}

// At the deepest allowed level, everything works.
TEST(HclNesting, WorksUpToTheBound) {
  constexpr std::size_t kDeep = kMaxNesting - 5;
  EXPECT_EQ(evaluated(repeated("(", kDeep) + "1" + repeated(")", kDeep)), "1");
  EXPECT_EQ(evaluated(repeated("[", kDeep) + "1" + repeated("]", kDeep)),
            repeated("[", kDeep) + "1" + repeated("]", kDeep));
  EXPECT_EQ(evaluated(repeated("abs(", kDeep) + "1" + repeated(")", kDeep)), "1");
  EXPECT_EQ(evaluated(repeated("\"${", kDeep / 2) + "1" + repeated("}\"", kDeep / 2)), "1");
  EXPECT_EQ(evaluated("\"" + repeated("%{ if true }", kDeep) + "x" + repeated("%{ endif }", kDeep) + "\""), "\"x\"");
  EXPECT_EQ(evaluated(repeated("true ? ", kDeep) + "1" + repeated(" : 2", kDeep)), "1");
}

// Long is not deep.
TEST(HclChains, MayBeLong) {
  constexpr std::size_t kLong = 50'000;
  EXPECT_EQ(evaluated("0" + repeated(" + 1", kLong)), std::to_string(kLong));
  EXPECT_EQ(evaluated("true" + repeated(" && true", kLong)), "true");
  EXPECT_EQ(evaluated("attr" + repeated(".a", kLong)), "\"${attr" + repeated(".a", kLong) + "}\"");
  EXPECT_EQ(evaluated("\"" + repeated("${1}", kLong) + "\""), "\"" + repeated("1", kLong) + "\"");
}

// Tokens, nodes and steps of evaluation per byte stay the same when the text grows; wall time is left to profiles.
TEST(HclTokens, NumberIsProportionalToTheText) {
  for (const std::string_view piece :
       {"a = [1, \"x${b.c}\"]\n", "/*", "<<A\n", "\"${", "$$${", "'", "\r", "1.", "}} ", "<<-EOT\n  x ${a}\n  EOT\n"}) {
    const Source once("x", repeated(piece, 1000)), twice("x", repeated(piece, 2000));
    const std::size_t a = tokens_of(once).size(), b = tokens_of(twice).size();
    EXPECT_LE(b, 2 * a + 2) << piece;
    EXPECT_LE(a, once.text().size() + 1) << piece;
  }
}

// Excessive work that a few lines can request ends with an error of one line.
TEST(HclEvaluation, IsBounded) {
  EXPECT_EQ(evaluated("[for a in range(1024) : [for b in range(1024) : [for c in range(1024) : 1]]]").substr(0, 94),
            "x:1,1-77: Evaluation too long; evaluating this file takes more than 10 million steps; make its");
  EXPECT_EQ(evaluated("can([for a in range(1024) : [for b in range(1024) : [for c in range(1024) : 1]]])"),
            "x:1,1-82: Evaluation too long; evaluating this file takes more than 10 million steps; make its loops "
            "smaller");
  const std::string doubled =
      evaluated("[for x in [\"" + repeated("y", 1 << 20) + "\"] : \"" + repeated("${x}", 100) + "\"]");
  EXPECT_NE(doubled.find("the value would be larger than 16 MiB"), std::string::npos) << doubled.substr(0, 200);
}

TEST(HclPositions, CountGraphemeClustersAndLines) {
  const Source source("f",
                      "a\xCC\x81"
                      "b\r\nc\td\n" +
                          repeated("\xC3\xA9", 5000) + "z");
  const auto at = [&](std::size_t offset) {
    const Position p = source.position(static_cast<std::uint32_t>(offset));
    return std::pair(p.line, p.column);
  };
  EXPECT_EQ(at(0), std::pair(1U, 1U));
  EXPECT_EQ(at(3), std::pair(1U, 2U));  // a with its accent is one cluster
  EXPECT_EQ(at(6), std::pair(2U, 1U));
  EXPECT_EQ(at(8), std::pair(2U, 3U));
  EXPECT_EQ(at(10 + 10'000), std::pair(3U, 5001U));
  EXPECT_EQ(at(10 + 10'001), std::pair(3U, 5002U));
}

TEST(HclSuggestion, IsTheFirstWithinTwoEdits) {
  const std::vector<std::string> names = {"count", "id", "priority"};
  EXPECT_EQ(suggestion("cuont", names), "count");
  EXPECT_EQ(suggestion("a", names), "id");
  EXPECT_EQ(suggestion("prio", names), "");
  EXPECT_EQ(suggestion("priorities", names), "");
  EXPECT_EQ(suggestion("piorty", names), "priority");
  EXPECT_EQ(suggestion("ytiroirp", names), "");
}

}  // namespace
}  // namespace berth::hcl
