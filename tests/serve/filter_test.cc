// Filter expressions (R-API-75 to 79b): their results on stored objects, and the texts of their errors, which are those
// of recorded answers.
#include "http/filter/filter.h"

#include <gtest/gtest.h>

#include <random>

#include "model/job.h"
#include "support/cluster_objects.h"
#include "support/sanitized.h"

namespace berth::http {
namespace {

model::Node node() {
  model::Node out = testing::make_node({.id = "5b0f1d2a-0000-4000-8000-000000000001",
                                        .name = "client-1",
                                        .node_class = "compute",
                                        .attributes = {{"kernel.name", "linux"}}});
  out.meta = {{"rack", "r1"}, {"a-b", "dashed"}, {"empty", ""}};
  out.create_index = 7;
  return out;
}

model::Job job() {
  model::Job out =
      *testing::make_job({.id = "web", .groups = {{.name = "front", .count = 3, .task = "nginx"}, {.name = "back"}}});
  out.datacenters = {"dc1", "dc2"};
  out.meta = {{"team", "a"}};
  return out;
}

/// "true", "false" or the error.
template <class Object>
std::string ask(const std::string& text, const Object& object) {
  const auto filter = Filter::parse(text);
  if (!filter) return "parser: " + filter.error();
  const auto answer = filter->matches(object);
  return !answer ? answer.error() : *answer ? "true" : "false";
}

struct Case {
  const char *text, *answer;
};

TEST(Filter, MatchesNodes) {  // R-API-76 to 78
  const Case cases[] = {
      {R"(Datacenter == "dc1")", "true"},
      {R"(Datacenter=="dc1")", "true"},
      {R"(NodeClass != "compute")", "false"},
      {R"(Status == ready and NodePool == default)", "true"},
      {R"(Status == down or Meta.rack == r1)", "true"},
      {R"(Status == down and Name == x or Meta.rack == r1)", "true"},
      {R"(not Status == ready)", "false"},
      {R"(not (Status == down and Name == x))", "true"},
      {R"((Status == down or Status == ready) and Name == "client-1")", "true"},
      {R"(Name matches "client-[12]")", "true"},
      {R"(Name not matches `^ient`)", "true"},
      {R"("ient" in Name)", "true"},
      {R"(Name contains "ient")", "true"},
      {R"(Name not contains "ient")", "false"},
      {R"("rack" in Meta)", "true"},
      {R"(rack in Meta)", "true"},
      {R"("shelf" not in Meta)", "true"},
      {R"(Meta["a-b"] == "dashed")", "true"},
      {R"("/Meta/a-b" == dashed)", "true"},
      {R"("/Attributes/kernel.name" == linux)", "true"},
      {R"(Meta.color is empty)", "true"},
      {R"(Meta.empty is empty)", "true"},
      {R"(Meta.rack is not empty)", "true"},
      {R"(Meta.color == "")", "false"},
      {R"(Meta.color != "red")", "true"},
      {R"(CreateIndex == 7)", "true"},
      {R"(CreateIndex == 07)", "parser: 1:17 (16): rule \"number\": Invalid number literal"},
      {R"(DrainStrategy is nil)", "true"},
      {R"(DrainStrategy is not nil and DrainStrategy.Deadline == 0)", "false"},
      {R"(any Meta as k { k == "rack" })", "true"},
      {R"(any Meta as k, v { v == "r1" and k == "rack" })", "true"},
      {R"(all Meta as _, v { v != "x" })", "true"},
      {"\t Name\n==\r\n\"client-1\" ", "true"},
      {"Name == \"client\\x2d1\"", "true"},
  };
  for (const Case& one : cases) EXPECT_EQ(ask(one.text, node()), one.answer) << one.text;
}

TEST(Filter, MatchesJobs) {
  const Case cases[] = {
      {R"(ParentID == "" and ParameterizedJob is not nil)", "false"},  // R-API-79b
      {R"(Periodic is not nil)", "false"},
      {R"(Periodic is not nil and Periodic.Enabled == true)", "false"},
      {R"(Type == "service" and Priority == 50)", "true"},
      {R"(Stop == false)", "true"},
      {R"(dc2 in Datacenters)", "true"},
      {R"(Datacenters contains "dc")", "false"},
      {R"(Datacenters.1 == dc2)", "true"},
      {R"(TaskGroups.0.Name == front)", "true"},
      {R"(any TaskGroups as g { g.Count == 3 and g.Name == front })", "true"},
      {R"(all TaskGroups as g { g.Name == front })", "false"},
      {R"(any TaskGroups as i, g { i == 1 and g.Name == back })", "true"},
      {R"(any TaskGroups as g { any g.Tasks as t { t.Name == nginx } })", "true"},
      {R"(Constraints is empty)", "true"},
  };
  for (const Case& one : cases) EXPECT_EQ(ask(one.text, job()), one.answer) << one.text;
}

TEST(Filter, ReachesFromAllocationsIntoTheirJob) {
  const model::Allocation alloc = testing::make_alloc({.job = std::make_shared<const model::Job>(job())});
  EXPECT_EQ(ask(R"(Job.Type == "service" and ClientStatus == running)", alloc), "true");
  EXPECT_EQ(ask(R"(DeploymentStatus.Canary == true)", alloc),
            "error finding value in datum: /DeploymentStatus/Canary: at part 1, invalid value kind: invalid");
}

TEST(Filter, NamesErrors) {  // R-API-78, 79
  const Case of_nodes[] = {
      {"Drain is empty",
       R"(error finding value in datum: /Drain at part 0: couldn't find key: struct field with name "Drain")"},
      {"Meta.os.x == a", R"(error finding value in datum: /Meta/os/x at part 1: couldn't find key "os")"},
      {"Name.x == a", "error finding value in datum: /Name/x: at part 1, invalid value kind: string"},
      {"CreateIndex == abc",
       R"(error getting match value in expression: strconv.ParseUint: parsing "abc": invalid syntax)"},
      {"StatusUpdatedAt == abc",
       R"(error getting match value in expression: strconv.ParseInt: parsing "abc": invalid syntax)"},
      {"TLSEnabled == yes",
       R"(error getting match value in expression: strconv.ParseBool: parsing "yes": invalid syntax)"},
      {"Meta == a", "unable to find suitable primitive comparison function for matching"},
  };
  for (const Case& one : of_nodes) EXPECT_EQ(ask(one.text, node()), one.answer) << one.text;
  EXPECT_EQ(ask("Periodic.Enabled == true", job()),
            "error finding value in datum: /Periodic/Enabled: at part 1, invalid value kind: invalid");
}

TEST(Filter, NamesThePlaceOfASyntaxError) {  // recorded answers
  const Case cases[] = {
      {"bad = ",
       R"(1:5 (4): no match found, expected: "!=", "==", "contains", "in", "is", "matches", "not" or [ \t\r\n])"},
      {"\"", R"(1:2 (1): rule "string": Unterminated string literal)"},
      {"ClientStatus > \"a\"",
       R"(1:14 (13): no match found, expected: "!=", "==", "contains", "in", "is", "matches", "not" or [ \t\r\n])"},
      {"zzz", R"(1:4 (3): no match found, expected: "!=", ".", "==", "[", [ \t\r\n] or [a-zA-Z0-9_/])"},
      {"Status == ready and NodePool in \"bat\"", R"(1:33 (32): rule "match": Invalid selector)"},
      {"Attributes.\"kernel.name\" == \"linux\"", R"(1:12 (11): no match found, expected: [0-9] or [a-zA-Z])"},
  };
  for (const Case& one : cases) EXPECT_EQ(ask(one.text, node()), std::string("parser: ") + one.answer) << one.text;
  EXPECT_TRUE(ask("", node()).starts_with("parser: 1:1 (0): no match found"));
  EXPECT_TRUE(ask("Name == 'a'", node()).starts_with("parser: 1:9 (8): no match found"));
  EXPECT_TRUE(ask("Name matches \"(\"", node()).find("failed to compile regular expression") != std::string::npos);
  EXPECT_TRUE(ask("Status == ready x", node()).ends_with("or EOF"));
}

TEST(Filter, RefusesWhatNestsTooDeeply) {
  const std::string open(100'000, '('), close(100'000, ')');
  EXPECT_TRUE(ask(open + "Name == a" + close, node()).starts_with("parser: "));
  std::string negations = "Name == a";
  for (int i = 0; i < 10'000; ++i) negations = "not " + negations;
  EXPECT_TRUE(ask(negations, node()).starts_with("parser: "));
  std::string flat = "Name == a";
  for (int i = 0; i < 10'000; ++i) flat += " or Name == a";
  EXPECT_EQ(ask(flat, node()), "false");
}

// Random expressions compared with an evaluation that does not use the filter code.
struct Drawn {
  std::string text;
  bool holds;
};

Drawn draw(std::mt19937_64& random, int depth) {
  const auto below = [&](std::size_t bound) { return random() % bound; };
  const auto gap = [&] { return std::string(1 + below(2), below(3) ? ' ' : '\t'); };
  if (depth == 0 || below(4) == 0) {
    static const Drawn atoms[] = {{"Name == \"client-1\"", true}, {"Status!=ready", false},
                                  {"\"r1\" in Meta.rack", true},  {"Meta.color is empty", true},
                                  {"Links is not nil", false},    {"Name matches `^x`", false}};
    return atoms[below(std::size(atoms))];
  }
  if (below(4) == 0) {
    const Drawn inner = draw(random, depth - 1);
    return {"not" + gap() + "(" + inner.text + ")", !inner.holds};
  }
  const bool any = below(2);
  Drawn out = draw(random, depth - 1);
  if (below(2)) out.text = "(" + out.text + ")";
  // Parts of a chain are put into parentheses, because precedence is not tested here.
  out.text = "( " + out.text + " )";
  for (std::size_t more = 1 + below(3); more > 0; --more) {
    const Drawn next = draw(random, depth - 1);
    out.text += gap() + (any ? "or" : "and") + gap() + "(" + next.text + ")";
    out.holds = any ? out.holds || next.holds : out.holds && next.holds;
  }
  return out;
}

TEST(Filter, AgreesWithDirectEvaluation) {
  std::mt19937_64 random(20);
  const model::Node object = node();
  for (std::uint64_t i = 0; i < berth::testing::rounds(5'000); ++i) {
    const Drawn drawn = draw(random, 4);
    ASSERT_EQ(ask(drawn.text, object), drawn.holds ? "true" : "false") << drawn.text;
  }
}

TEST(Filter, AnswersAnyInput) {
  static const char* const pieces[] = {
      "Name", "Meta", ".",    "[",     "]",    "\"",  "`",  "==",         "!=",       " ",  "in",
      "not",  "is",   "nil",  "empty", "any",  "all", "as", "{",          "}",        "(",  ")",
      "_",    ",",    "-1",   "0.5",   "12",   "and", "or", "matches",    "contains", "\\", "\\u12",
      "\xff", "/",    "rack", "\n",    "(?P<", "*",   "é",  "TaskGroups", "x"};
  std::mt19937_64 random(21);
  const model::Node object = node();
  std::size_t parsed = 0;
  for (std::uint64_t i = 0; i < berth::testing::rounds(100'000); ++i) {
    std::string text;
    for (std::size_t left = random() % 14; left > 0; --left) {
      text += pieces[random() % std::size(pieces)];
      if (random() % 2) text += ' ';
    }
    if (random() % 3 == 0 && !text.empty()) text[random() % text.size()] = static_cast<char>(random());
    const std::string first = ask(text, object);
    ASSERT_FALSE(first.empty());
    ASSERT_EQ(first, ask(text, object)) << text;
    parsed += !first.starts_with("parser: ");
  }
  EXPECT_GT(parsed, 10u);
}

}  // namespace
}  // namespace berth::http
